//! Renders request bodies of OpenAI's Responses protocol. Does not know how they are sent.

use std::sync::Arc;

use serde::Serialize;

use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::json::{Elements, put};
use crate::adapter::openai_tools::OpenaiTools;
use crate::adapter::rendered_messages::{JoinedMessages, SentPart, TargetModel, parts_of};
use crate::adapter::tail::tail;
use crate::contract::{TargetTerms, Terms, ToolTerms, wire_version};
use crate::message::{AgentMessage, Role};

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::OPENAI_RESPONSES;
/// Request path below the base URL.
pub(in crate::adapter) const PATH: &str = "responses";

/// Renders bodies for one target; see the module's documentation for what is sent.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    /// After `{"model":…,"input":[`.
    messages: JoinedMessages,
    /// Parameters and the closing brace, after a comma.
    tail: Vec<u8>,
    to: TargetModel,
    tools: OpenaiTools,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let mut head = b"{\"model\":".to_vec();
        put(&mut head, &target.model);
        head.extend_from_slice(b",\"input\":[");
        let tools: Vec<WireTool<'_>> = terms.exposed_tools().map(WireTool::of).collect();
        Self {
            messages: JoinedMessages::after(&head),
            tail: tail(terms, target, &Parameters::of(target)),
            to: TargetModel::of(terms, target),
            tools: OpenaiTools::of(&tools, terms),
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
        let render = |_: &[Arc<AgentMessage>], message: &AgentMessage| rendered(message, to);
        self.messages
            .body(conversation, shape.notices, render, &rest)
    }
}

/// The items of a message, joined by commas.
fn rendered(message: &AgentMessage, to: &TargetModel) -> Vec<u8> {
    let mut out = Elements::default();
    match message.role {
        Role::System | Role::User => out.add(&Item::Message {
            role: message.role,
            content: &message.content,
        }),
        Role::Tool => out.add(&Item::FunctionCallOutput {
            call_id: message.tool_call_id.as_deref().unwrap_or_default(),
            output: &message.content,
        }),
        Role::Assistant => {
            for part in parts_of(message, to) {
                match part {
                    SentPart::Block(json) => out.add_text(json),
                    SentPart::Text("", _) => {}
                    SentPart::Text(content, _) => out.add(&Item::Message {
                        role: message.role,
                        content,
                    }),
                    SentPart::Call(call, _) => out.add(&Item::FunctionCall {
                        call_id: &call.id,
                        name: &call.name,
                        arguments: call.arguments.as_str(),
                    }),
                }
            }
        }
    }
    out.into_bytes()
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: &'a str,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: &'a str,
    },
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a serde_json::Value,
    /// The protocol's default rewrites schemas; ours are sent as they are.
    strict: bool,
}

impl<'a> WireTool<'a> {
    fn of(tool: &'a ToolTerms) -> Self {
        Self {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            strict: false,
        }
    }
}

/// Serialised in this order, after `input` and `tools`.
#[derive(Serialize)]
struct Parameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    /// Reasoning that goes back with the next request: nothing is stored at the provider, and models reason unasked.
    include: &'static [&'static str],
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
}

/// True if requests ask for reasoning.
pub(in crate::adapter) fn reasons(target: &TargetTerms) -> bool {
    target.effort().is_some_and(|effort| effort != "none")
}

impl<'a> Parameters<'a> {
    fn of(target: &'a TargetTerms) -> Self {
        let sampling = &target.sampling;
        let effort = target.effort();
        let plain = !reasons(target);
        Self {
            max_output_tokens: sampling.sent_limit(),
            // Models that reason take neither.
            temperature: sampling.temperature.filter(|_| plain),
            top_p: sampling.top_p.filter(|_| plain),
            reasoning: effort.map(|effort| Reasoning { effort }),
            include: &["reasoning.encrypted_content"],
            store: false,
            stream: sampling.stream,
        }
    }
}
