//! Renders request bodies of OpenAI's chat protocol. Does not know how they are sent.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::json::{Elements, append, put};
use crate::adapter::openai_tools::{FunctionTool, OpenaiTools};
use crate::adapter::recipient::{FOREIGN_SIGNATURE, Recipient, SentPart, is_silent};
use crate::adapter::rendered_messages::JoinedMessages;
use crate::adapter::response_format::{ChatSchema, OpenaiFormat};
use crate::adapter::tail::tail;
use crate::contract::{ProviderType, TargetTerms, Terms, wire_version};
use crate::message::{AgentMessage, Role, ToolInvocation};

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::OPENAI_CHAT;
/// The name of OpenRouter's dialect adapter in contracts and results.
pub(in crate::adapter) const OPENROUTER_VERSION: &str = wire_version::OPENROUTER_CHAT;
/// The member that some servers want beside calls.
const REASONING: &str = "reasoning_content";
/// Request path below the base URL.
pub(in crate::adapter) const PATH: &str = "chat/completions";

/// Renders bodies for one target; see the module's documentation for what is sent.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    /// After `{"model":…,"messages":[`.
    messages: JoinedMessages,
    tools: OpenaiTools,
    /// Parameters and the closing brace, after a comma.
    tail: Vec<u8>,
    to: Recipient,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let provider = terms
            .providers
            .get(&target.provider)
            .map_or(ProviderType::Openai, |provider| provider.provider_type);
        let mut head = b"{\"model\":".to_vec();
        put(&mut head, &target.model);
        head.extend_from_slice(b",\"messages\":[");
        let to = Recipient::of_chat(terms, target);
        let parameters = Parameters {
            response_format: OpenaiFormat::of_chat(terms, target),
            ..Parameters::of(target, provider)
        };
        Self {
            messages: JoinedMessages::after(&head, to.rules().joins_results),
            tools: OpenaiTools::of(&FunctionTool::exposed(terms), terms),
            tail: tail(terms, target, &parameters),
            to,
        }
    }
}

impl Encode for Encoder {
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
        if self.to.refuse_state(shape.without_state) {
            self.messages.forget();
        }
        let [tools, choice] = self.tools.sent(shape.tools);
        let rest = [b"]", tools, choice, &self.tail];
        let to = &self.to;
        let render =
            |before: &[Arc<AgentMessage>], message: &AgentMessage| rendered(before, message, to);
        self.messages
            .body(conversation, shape.notices, render, &rest)
    }
}

/// Serialised in this order, after `messages` and `tools`.
#[derive(Serialize)]
struct Parameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    /// In place of `max_tokens` to models that refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// In place of `seed` to Mistral.
    #[serde(skip_serializing_if = "Option::is_none")]
    random_seed: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<WireReasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<OpenaiFormat<ChatSchema<'a>>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// OpenRouter takes an effort or a token count, not both.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum WireReasoning<'a> {
    Enabled(bool),
    MaxTokens(u64),
    Effort(&'a str),
}

impl<'a> Parameters<'a> {
    fn of(target: &'a TargetTerms, provider: ProviderType) -> Self {
        let sampling = &target.sampling;
        let openrouter = provider == ProviderType::Openrouter;
        let effort = target.effort();
        let (limit, seed) = (sampling.sent_limit(), sampling.seed.map(|seed| seed.0));
        let (max_tokens, max_completion_tokens) = if target.refuses("max_tokens") {
            (None, limit)
        } else {
            (limit, None)
        };
        let (seed, random_seed) = if target.refuses("seed") {
            (None, seed)
        } else {
            (seed, None)
        };
        let off = sampling
            .reasoning_off()
            .then_some(WireReasoning::Enabled(false));
        let (repeat_penalty, repetition_penalty) = match provider {
            ProviderType::Openai => (None, None),
            ProviderType::Openrouter => (None, sampling.repeat_penalty),
            _ => (sampling.repeat_penalty, None),
        };
        Self {
            max_tokens,
            max_completion_tokens,
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            seed,
            random_seed,
            stop: &sampling.stop,
            repeat_penalty,
            repetition_penalty,
            reasoning_effort: effort.filter(|_| !openrouter),
            reasoning: off
                .or(sampling.reasoning_count().map(WireReasoning::MaxTokens))
                .or(effort.map(WireReasoning::Effort))
                .filter(|_| openrouter),
            response_format: None,
            stream: sampling.stream,
            stream_options: (sampling.stream && !target.refuses("stream_options")).then_some(
                StreamOptions {
                    include_usage: true,
                },
            ),
        }
    }
}

/// A message with the members of it that go back to their target; nothing for one that says nothing.
fn rendered(before: &[Arc<AgentMessage>], message: &AgentMessage, to: &Recipient) -> Vec<u8> {
    let mut out = Vec::new();
    if is_silent(message) {
        return out;
    }
    let parts = to.content(message).map(content_parts);
    let silent = message.content.is_empty() && !message.tool_calls.is_empty();
    let id = message.tool_call_id.as_deref();
    put(
        &mut out,
        &WireMessage {
            role: message.role,
            tool_call_id: id.map(|id| to.result_id(before, id)),
            content: match &parts {
                Some(parts) => serde_json::from_str(parts).ok().map(WireContent::Parts),
                None if silent => None,
                None => Some(WireContent::Text(&message.content)),
            },
        },
    );
    if !message.tool_calls.is_empty() {
        append(
            &mut out,
            [("tool_calls", rendered_calls(before, message, to))],
        );
    }
    append(&mut out, to.members(message));
    let wants_reasoning = to.rules().wants_reasoning && to.takes(REASONING);
    let has_reasoning = || to.members(message).any(|(name, _)| name == REASONING);
    if wants_reasoning && !message.tool_calls.is_empty() && !has_reasoning() {
        // Another model's calls: the server refuses them without any reasoning, and with an empty one.
        append(&mut out, [(REASONING, "\" \"")]);
    }
    out
}

/// The parts of a content that has some other than text.
fn content_parts(parts: Vec<SentPart<'_>>) -> String {
    let mut out = Elements::default();
    for part in parts {
        match part {
            SentPart::Block(json) => out.add_text(json),
            SentPart::Text(text, _) => out.add(&WireText {
                r#type: "text",
                text,
            }),
            SentPart::Call(..) => {}
        }
    }
    let parts = String::from_utf8(out.into_bytes()).unwrap_or_default();
    format!("[{parts}]")
}

fn rendered_calls(before: &[Arc<AgentMessage>], message: &AgentMessage, to: &Recipient) -> Vec<u8> {
    const SIGNED: &str = "extra_content";
    let calls = to.calls(message);
    let is_signed = calls
        .iter()
        .any(|(_, own)| own.contains("thought_signature"));
    let mut lacks_signature = to.rules().signs_calls && !is_signed && to.takes(SIGNED);
    let mut out = b"[".to_vec();
    for (call, own) in calls {
        if out.len() > 1 {
            out.push(b',');
        }
        let mut one = Vec::new();
        put(&mut one, &WireCall::of(before, call, to));
        append(&mut one, to.object_members(own));
        if std::mem::take(&mut lacks_signature) {
            let signature =
                format!("{{\"google\":{{\"thought_signature\":\"{FOREIGN_SIGNATURE}\"}}}}");
            append(&mut one, [(SIGNED, signature)]);
        }
        out.extend_from_slice(&one);
    }
    out.push(b']');
    out
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    /// Null beside calls without text; always present, because strict servers ask for the key.
    content: Option<WireContent<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    Parts(&'a RawValue),
    Text(&'a str),
}

#[derive(Serialize)]
struct WireText<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    /// The text the model wrote, as a JSON string.
    arguments: &'a str,
}

impl<'a> WireCall<'a> {
    fn of(before: &[Arc<AgentMessage>], call: &'a ToolInvocation, to: &Recipient) -> Self {
        Self {
            id: to.call_id(before, &call.id),
            r#type: "function",
            function: WireFunction {
                name: to.name(&call.name),
                arguments: call.arguments.as_str(),
            },
        }
    }
}
