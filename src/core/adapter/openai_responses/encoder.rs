//! Renders request bodies of OpenAI's Responses protocol. Does not know how they are sent.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::json::{Elements, put};
use crate::adapter::openai_tools::OpenaiTools;
use crate::adapter::recipient::{IdForm, Recipient, SentPart};
use crate::adapter::rendered_messages::JoinedMessages;
use crate::adapter::response_format::TextMember;
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
    to: Recipient,
    tools: OpenaiTools,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let mut head = b"{\"model\":".to_vec();
        put(&mut head, &target.model);
        head.extend_from_slice(b",\"input\":[");
        let tools: Vec<WireTool<'_>> = terms.exposed_tools().map(WireTool::of).collect();
        let parameters = Parameters {
            text: TextMember::of(terms, target),
            ..Parameters::of(target)
        };
        Self {
            messages: JoinedMessages::after(&head, false),
            tail: tail(terms, target, &parameters),
            to: Recipient::of(terms, target, IdForm::Word(64)),
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

/// The items of a message, joined by commas.
fn rendered(before: &[Arc<AgentMessage>], message: &AgentMessage, to: &Recipient) -> Vec<u8> {
    let mut out = Elements::default();
    match message.role {
        Role::System | Role::User => out.add(&Item::Message {
            role: message.role,
            content: Content::Text(&message.content),
        }),
        Role::Tool => out.add(&Item::FunctionCallOutput {
            call_id: to.result_id(before, message.tool_call_id.as_deref().unwrap_or_default()),
            output: &message.content,
        }),
        Role::Assistant => {
            let parts = to.parts(message);
            // Reasoning goes back with what follows it, and never alone.
            let last = parts.iter().rposition(|part| !is_thought(part));
            let sent = parts.into_iter().take(last.map_or(0, |last| last + 1));
            for part in sent {
                add(&mut out, before, part, to);
            }
        }
    }
    out.into_bytes()
}

fn add(out: &mut Elements, before: &[Arc<AgentMessage>], part: SentPart<'_>, to: &Recipient) {
    match part {
        SentPart::Block(json) => out.add_text(json),
        SentPart::Text("", _) => {}
        SentPart::Text(text, "") => out.add(&Item::Message {
            role: Role::Assistant,
            content: Content::Text(text),
        }),
        SentPart::Text(text, own) => {
            let content = Content::Parts([OutputText {
                r#type: "output_text",
                text,
                annotations: [],
            }]);
            let role = Role::Assistant;
            out.add_with(&Item::Message { role, content }, to.object_members(own));
        }
        SentPart::Call(call, own) => {
            let item = Item::FunctionCall {
                call_id: to.call_id(before, &call.id),
                name: to.name(&call.name),
                arguments: call.arguments.as_str(),
            };
            out.add_with(&item, to.object_members(own));
        }
    }
}

/// True if the part is reasoning or empty: nothing that an answer may end with.
fn is_thought(part: &SentPart<'_>) -> bool {
    match part {
        SentPart::Block(json) => {
            let item: WireKind = serde_json::from_str(json).unwrap_or_default();
            item.r#type == "reasoning"
        }
        SentPart::Text(text, _) => text.trim().is_empty(),
        SentPart::Call(..) => false,
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireKind {
    r#type: String,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: Content<'a>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: &'a str,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Parts([OutputText<'a>; 1]),
    Text(&'a str),
}

/// Text of the model in an item that has an id.
#[derive(Serialize)]
struct OutputText<'a> {
    r#type: &'static str,
    text: &'a str,
    annotations: [(); 0],
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
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextMember<'a>>,
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
            text: None,
        }
    }
}
