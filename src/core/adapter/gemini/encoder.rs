//! Renders request bodies of Gemini's protocol. Does not know how they are sent.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::joined_turns::{Around, JoinedTurns, TurnForm};
use crate::adapter::json::{Elements, put};
use crate::adapter::members::others;
use crate::adapter::recipient::{
    FOREIGN_SIGNATURE, IdForm, Recipient, SentPart, is_silent, wants_signatures,
};
use crate::adapter::rendered_messages::reasoning_budget;
use crate::adapter::tail::tail;
use crate::contract::{
    FinalReportTerms, TargetTerms, Terms, ThinkingForm, ToolTerms, wire_version,
};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role};

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::GEMINI;

/// Renders bodies for one target; see the module's documentation for what is sent.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    messages: JoinedTurns,
    /// Parameters and the closing brace, after a comma: of a request that offers tools, and of one that offers none. The form of the
    /// answer is for the latter alone, because models that may call refuse it.
    tails: [Vec<u8>; 2],
    /// True if the first call of every message must have a signature.
    signs_calls: bool,
    to: Recipient,
    /// `,"tools":[…]`; none if no tool is exposed.
    tools: Option<Vec<u8>>,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let tail = |form: Option<&FinalReportTerms>| {
            let generation_config = Parameters {
                response_mime_type: form.map(|_| "application/json"),
                response_json_schema: form.and_then(|form| form.schema.as_ref()),
                ..Parameters::of(target)
            };
            tail(terms, target, &Config { generation_config })
        };
        Self {
            messages: JoinedTurns::new(TurnForm {
                model: b"{\"role\":\"model\",\"parts\":[",
                user: b"{\"role\":\"user\",\"parts\":[",
                close: b"]}",
                mark: b"",
            }),
            tails: [tail(None), tail(terms.asked_format(target))],
            signs_calls: wants_signatures(&target.model),
            to: Recipient::of(terms, target, IdForm::Text(usize::MAX)),
            tools: tools(terms),
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
        let (tools, mode): (&[u8], &[u8]) = match (&self.tools, shape.tools) {
            (Some(tools), ToolExposure::Auto) => (tools, b"AUTO"),
            (Some(tools), ToolExposure::Forced) => (tools, b"ANY"),
            (None, _) | (_, ToolExposure::Withheld) => (b"", b""),
        };
        let choice = if mode.is_empty() {
            Vec::new()
        } else {
            let config = b",\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"".as_slice();
            [config, mode, b"\"}}"].concat()
        };
        let Self { messages, to, .. } = self;
        let [calling, answering] = &self.tails;
        let tail = if mode.is_empty() { answering } else { calling };
        let signs_calls = self.signs_calls;
        messages.body(
            conversation,
            shape.notices,
            |before, message| rendered(before, message, to, signs_calls),
            |system| {
                let mut rest = b"]".to_vec();
                if !system.is_empty() {
                    rest.extend_from_slice(b",\"systemInstruction\":{\"parts\":[");
                    rest.extend_from_slice(system);
                    rest.extend_from_slice(b"]}");
                }
                for part in [tools, &choice, tail] {
                    rest.extend_from_slice(part);
                }
                Around {
                    head: b"{\"contents\":[".to_vec(),
                    rest,
                }
            },
        )
    }
}

/// The parts of a message, joined by commas.
fn rendered(
    before: &[Arc<AgentMessage>],
    message: &AgentMessage,
    to: &Recipient,
    signs_calls: bool,
) -> Vec<u8> {
    let mut out = Elements::default();
    match message.role {
        Role::System | Role::User => out.add(&Part::text(&message.content)),
        Role::Tool => {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            out.add(&Part {
                function_response: Some(FunctionResponse {
                    id: answered_id(before, id, to),
                    name: to.result_name(before, id),
                    response: Output {
                        output: &message.content,
                    },
                }),
                ..Part::default()
            });
        }
        Role::Assistant if is_silent(message) => {}
        Role::Assistant => {
            let parts = to.parts(message);
            let is_signed = |part: &SentPart<'_>| matches!(part, SentPart::Call(_, own) if own.contains(SIGNATURE));
            let mut lacks_signature =
                signs_calls && to.takes(SIGNATURE) && !parts.iter().any(is_signed);
            for part in parts {
                match part {
                    SentPart::Block(json) => out.add_text(json),
                    SentPart::Text("", "") => {}
                    SentPart::Text(text, own) => {
                        out.add_with(&Part::text(text), to.object_members(own));
                    }
                    SentPart::Call(call, own) => {
                        let part = Part {
                            function_call: Some(FunctionCall {
                                id: own_id(own),
                                name: to.name(&call.name),
                                args: serde_json::from_str(call.arguments.as_str()).ok(),
                            }),
                            thought_signature: std::mem::take(&mut lacks_signature)
                                .then_some(FOREIGN_SIGNATURE),
                            ..Part::default()
                        };
                        let mut members = to.object_members(own);
                        members.retain(|(name, _)| name != CALL);
                        out.add_with(&part, members);
                    }
                }
            }
        }
    }
    out.into_bytes()
}

const CALL: &str = "functionCall";
const SIGNATURE: &str = "thoughtSignature";

/// The id that the provider gave the call with these members; none if the provider knows the call by its order.
fn own_id(members: &str) -> Option<String> {
    let call = others(members, &[])
        .into_iter()
        .find(|(name, _)| name == CALL)?
        .1;
    let id = others(call.get(), &[])
        .into_iter()
        .find(|(name, _)| name == "id")?
        .1;
    serde_json::from_str(id.get()).ok()
}

/// The provider's own id of the call that a result answers.
fn answered_id(before: &[Arc<AgentMessage>], id: &str, to: &Recipient) -> Option<String> {
    let has = |message: &&Arc<AgentMessage>| message.tool_calls.iter().any(|call| call.id == id);
    let message = before.iter().rev().find(has)?;
    to.parts(message).into_iter().find_map(|part| match part {
        SentPart::Call(call, own) if call.id == id => own_id(own),
        SentPart::Block(_) | SentPart::Call(..) | SentPart::Text(..) => None,
    })
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: Cow<'a, str>,
    args: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: Cow<'a, str>,
    response: Output<'a>,
}

#[derive(Serialize)]
struct Output<'a> {
    output: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters_json_schema: &'a serde_json::Value,
}

fn tools<'t>(terms: &'t Terms) -> Option<Vec<u8>> {
    let declare = |tool: &'t ToolTerms| Declaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.input_schema,
    };
    let tools: Vec<Declaration<'_>> = terms.exposed_tools().map(declare).collect();
    if tools.is_empty() {
        return None;
    }
    let mut out = b",\"tools\":[{\"functionDeclarations\":".to_vec();
    put(&mut out, &tools);
    out.extend_from_slice(b"}]");
    Some(out)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    generation_config: Parameters<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Parameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    /// A 32-bit integer there; another seed is not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a serde_json::Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "thinkingBudget")]
    budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "thinkingLevel")]
    level: Option<&'a str>,
    include_thoughts: bool,
}

impl<'a> Thinking<'a> {
    /// A count, the model's word for the level, or what switches it off: a count of 0, and the weakest word of a model that takes words. None
    /// if nothing is set.
    fn of(target: &'a TargetTerms) -> Option<Self> {
        let is_off = target.sampling.reasoning_off();
        let in_words = target.thinking() == Some(ThinkingForm::Level);
        let off = (is_off && !in_words).then_some(0);
        let budget = off.or(reasoning_budget(target, 1));
        let facts = target.facts.as_ref().filter(|_| is_off && in_words);
        let weakest = facts.and_then(|facts| facts.efforts.first());
        let word = target.known_effort().or(weakest.map(String::as_str));
        let level = word.filter(|_| budget.is_none());
        (budget.is_some() || level.is_some()).then_some(Self {
            budget,
            level,
            include_thoughts: !is_off,
        })
    }
}

impl<'a> Parameters<'a> {
    fn of(target: &'a TargetTerms) -> Self {
        let sampling = &target.sampling;
        Self {
            max_output_tokens: sampling.sent_limit(),
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            seed: sampling.seed.and_then(|seed| i32::try_from(seed.0).ok()),
            stop_sequences: &sampling.stop,
            thinking_config: Thinking::of(target),
            response_mime_type: None,
            response_json_schema: None,
        }
    }
}

/// Returns the request path below the base URL. It names the model and whether the answer streams.
pub(in crate::adapter) fn path(target: &TargetTerms) -> String {
    let model = target.model.replace('?', "%3F");
    let folder = if model.contains('/') { "" } else { "models/" };
    if target.sampling.stream {
        format!("{folder}{model}:streamGenerateContent?alt=sse")
    } else {
        format!("{folder}{model}:generateContent")
    }
}
