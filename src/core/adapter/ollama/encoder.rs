//! Renders request bodies of Ollama's chat protocol. Does not know how they are sent.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::RequestShape;
use crate::adapter::body::RequestBody;
use crate::adapter::encode::Encode;
use crate::adapter::function_tool::FunctionTool;
use crate::adapter::json::put;
use crate::adapter::rendered_messages::{JoinedMessages, name_of};
use crate::adapter::tail::tail;
use crate::contract::{TargetTerms, Terms};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role, ToolInvocation};

/// Renders bodies for one target; see the module's documentation for what is sent.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    /// After `{"model":…,"messages":[`.
    messages: JoinedMessages,
    /// Parameters and the closing brace, after a comma.
    tail: Vec<u8>,
    /// `,"tools":[…]`; none if no tool is exposed.
    tools: Option<Vec<u8>>,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let mut head = b"{\"model\":".to_vec();
        put(&mut head, &target.model);
        head.extend_from_slice(b",\"messages\":[");
        Self {
            messages: JoinedMessages::after(&head),
            tail: tail(terms, target, &Parameters::of(target)),
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
        let tools = match (&self.tools, shape.tools) {
            // The protocol has no way to force a call.
            (Some(tools), ToolExposure::Auto | ToolExposure::Forced) => tools.as_slice(),
            (None, _) | (_, ToolExposure::Withheld) => b"",
        };
        let rest = [b"]", tools, &self.tail];
        self.messages
            .body(conversation, shape.notices, rendered, &rest)
    }
}

fn rendered(before: &[Arc<AgentMessage>], message: &AgentMessage) -> Vec<u8> {
    let mut out = Vec::new();
    let id = message.tool_call_id.as_deref();
    put(
        &mut out,
        &WireMessage {
            role: message.role,
            content: &message.content,
            tool_calls: message.tool_calls.iter().map(WireCall::of).collect(),
            tool_call_id: id,
            tool_name: id.map(|id| name_of(before, id)),
        },
    );
    out
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: Option<&'a RawValue>,
}

impl<'a> WireCall<'a> {
    fn of(call: &'a ToolInvocation) -> Self {
        Self {
            id: &call.id,
            function: WireFunction {
                name: &call.name,
                arguments: serde_json::from_str(call.arguments.as_str()).ok(),
            },
        }
    }
}

fn tools(terms: &Terms) -> Option<Vec<u8>> {
    let tools = FunctionTool::exposed(terms);
    if tools.is_empty() {
        return None;
    }
    let mut out = b",\"tools\":".to_vec();
    put(&mut out, &tools);
    Some(out)
}

#[derive(Serialize)]
struct Parameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think<'a>>,
    stream: bool,
    options: Options<'a>,
}

/// Whether to think, or how much, in the word that the author gives for the level.
#[derive(Serialize)]
#[serde(untagged)]
enum Think<'a> {
    Whether(bool),
    Word(&'a str),
}

#[derive(Serialize)]
struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    /// The server's own default is far smaller than the model's window, and it cuts a longer prompt without a word.
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
}

impl<'a> Parameters<'a> {
    fn of(target: &'a TargetTerms) -> Self {
        let sampling = &target.sampling;
        let own = sampling.reasoning_own_word().map(Think::Word);
        let switch = (sampling.reasoning.is_some() || sampling.reasoning_off())
            .then_some(Think::Whether(!sampling.reasoning_off()));
        Self {
            think: own.or(switch),
            stream: sampling.stream,
            options: Options {
                num_predict: sampling.sent_limit(),
                num_ctx: target.context_window,
                temperature: sampling.temperature,
                top_p: sampling.top_p,
                repeat_penalty: sampling.repeat_penalty,
                seed: sampling.seed.map(|seed| seed.0),
                stop: &sampling.stop,
            },
        }
    }
}
