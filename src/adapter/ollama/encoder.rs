use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::RequestShape;
use crate::adapter::function_tool::FunctionTool;
use crate::adapter::json::{members, put};
use crate::adapter::kept::{Kept, name_of};
use crate::adapter::request::Encode;
use crate::contract::{TargetTerms, Terms};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role, ToolInvocation};

/// Renders bodies for one target; see the module's documentation for what is sent.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    /// `{"model":…,"messages":[`
    head: Vec<u8>,
    kept: Kept,
    /// Parameters and the closing brace, after a comma.
    tail: Vec<u8>,
    /// `,"tools":[…]`; none where no tool is exposed.
    tools: Option<Vec<u8>>,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let mut head = b"{\"model\":".to_vec();
        put(&mut head, &target.model);
        head.extend_from_slice(b",\"messages\":[");
        Self {
            head,
            kept: Kept::default(),
            tail: members(&Parameters::of(target)),
            tools: tools(terms),
        }
    }
}

impl Encode for Encoder {
    fn encode(&mut self, conversation: &[Arc<AgentMessage>], shape: &RequestShape<'_>) -> Vec<u8> {
        let said = self.kept.said(conversation, shape.notices, rendered);
        let tools = match (&self.tools, shape.tools) {
            // The protocol has no way to force a call.
            (Some(tools), ToolExposure::Auto | ToolExposure::Forced) => tools.as_slice(),
            (None, _) | (_, ToolExposure::Withheld) => b"",
        };
        [
            self.head.as_slice(),
            &said.joined(),
            b"]",
            tools,
            &self.tail,
        ]
        .concat()
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
struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<bool>,
    stream: bool,
    options: Options,
}

#[derive(Serialize)]
struct Options {
    num_predict: u64,
    /// The server's own default is far smaller than the model's window, and it cuts a longer prompt without a word.
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
    seed: u64,
}

impl Parameters {
    fn of(target: &TargetTerms) -> Self {
        let sampling = &target.sampling;
        let thinks = sampling.reasoning.is_some();
        Self {
            think: thinks.then_some(true),
            stream: sampling.stream,
            options: Options {
                num_predict: sampling.max_output_tokens,
                num_ctx: target.context_window,
                temperature: sampling.temperature,
                top_p: sampling.top_p,
                repeat_penalty: sampling.repeat_penalty,
                seed: sampling.seed.0,
            },
        }
    }
}
