//! Renders request bodies of OpenAI's chat protocol. Does not know how they are sent.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::json::put;
use crate::adapter::openai_tools::{FunctionTool, OpenaiTools};
use crate::adapter::rendered_messages::{JoinedMessages, TargetModel};
use crate::adapter::tail::tail;
use crate::contract::{ProviderType, TargetTerms, Terms, wire_version};
use crate::message::{AgentMessage, ReasoningPart, Role, ToolInvocation};

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::OPENAI_CHAT;
/// The name of OpenRouter's dialect adapter in contracts and results.
pub(in crate::adapter) const OPENROUTER_VERSION: &str = wire_version::OPENROUTER_CHAT;
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
    to: TargetModel,
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
        Self {
            messages: JoinedMessages::after(&head),
            tools: OpenaiTools::of(&FunctionTool::exposed(terms), terms),
            tail: tail(terms, target, &Parameters::of(target, provider)),
            to: TargetModel::of(terms, target),
        }
    }
}

impl Encode for Encoder {
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
        let [tools, choice] = self.tools.sent(shape.tools);
        let rest = [b"]", tools, choice, &self.tail];
        let to = &self.to;
        let render = |_: &[Arc<AgentMessage>], message: &AgentMessage| {
            let mut out = Vec::new();
            put(&mut out, &WireMessage::of(message, to));
            out
        };
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
            stream: sampling.stream,
            stream_options: (sampling.stream && !target.refuses("stream_options")).then_some(
                StreamOptions {
                    include_usage: true,
                },
            ),
        }
    }
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    /// Null beside calls without text; always present, because strict servers ask for the key.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    /// OpenRouter's, to the model that they came from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
}

impl<'a> WireMessage<'a> {
    fn of(message: &'a AgentMessage, to: &TargetModel) -> Self {
        let parts = to.own(message).map_or(&[][..], |trace| &trace.parts);
        let details = parts.iter().filter_map(|part| match part {
            ReasoningPart::Block(json) => serde_json::from_str(json).ok(),
            ReasoningPart::Call(_) | ReasoningPart::Text(_) => None,
        });
        let silent = message.content.is_empty() && !message.tool_calls.is_empty();
        Self {
            role: message.role,
            tool_call_id: message.tool_call_id.as_deref(),
            content: (!silent).then_some(&message.content),
            tool_calls: message.tool_calls.iter().map(WireCall::of).collect(),
            reasoning_details: details.collect(),
        }
    }
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    /// The text the model wrote, as a JSON string.
    arguments: &'a str,
}

impl<'a> WireCall<'a> {
    fn of(call: &'a ToolInvocation) -> Self {
        Self {
            id: &call.id,
            r#type: "function",
            function: WireFunction {
                name: &call.name,
                arguments: call.arguments.as_str(),
            },
        }
    }
}
