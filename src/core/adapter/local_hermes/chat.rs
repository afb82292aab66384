//! A conversation in the form that chat templates read. Does not know any template.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::contract::Terms;
use crate::message::{AgentMessage, Role, nearest_value};

/// A conversation for the template in the model's file to lay out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalChat {
    /// The messages.
    pub messages: Vec<ChatMessage>,
    /// When the run began, in milliseconds since 1970: what the template takes for the present.
    pub now_unix_ms: u64,
    /// Declarations of the tools, as templates expect them.
    pub tools: Vec<serde_json::Value>,
}

/// One message, in the keys that templates know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    /// Its text.
    pub content: String,
    /// The tool whose result it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The calls that it makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ChatCall>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatCall {
    /// Name and arguments.
    pub function: ChatFunction,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// The called function, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatFunction {
    /// An object, whose keys a model wrote.
    #[serde(deserialize_with = "exact")]
    pub arguments: serde_json::Value,
    /// The tool's exposed name.
    pub name: String,
}

fn exact<'de, D: Deserializer<'de>>(from: D) -> Result<serde_json::Value, D::Error> {
    Box::<RawValue>::deserialize(from).map(|raw| nearest_value(&raw))
}

impl LocalChat {
    /// A conversation to try a template on, and what of it a prompt must hold.
    #[must_use]
    pub fn sample() -> (Self, [&'static str; 5]) {
        let message = |role, content: &str| ChatMessage {
            content: content.to_owned(),
            name: None,
            role,
            tool_calls: Vec::new(),
        };
        let function = serde_json::json!({
            "name": "look_up",
            "description": "Looks a word up.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
        });
        let call = ChatCall {
            function: ChatFunction {
                arguments: serde_json::json!({"word": "heron"}),
                name: "look_up".to_owned(),
            },
            kind: "function".to_owned(),
        };
        let chat = Self {
            messages: vec![
                message(Role::System, "Use the tools."),
                message(Role::User, "What is a heron?"),
                ChatMessage {
                    tool_calls: vec![call],
                    ..message(Role::Assistant, "")
                },
                ChatMessage {
                    name: Some("look_up".to_owned()),
                    ..message(Role::Tool, "A wading bird.")
                },
            ],
            now_unix_ms: 0,
            tools: vec![serde_json::json!({"type": "function", "function": function})],
        };
        let sample_texts = [
            "Use the tools.",
            "What is a heron?",
            "Looks a word up.",
            "heron",
            "A wading bird.",
        ];
        (chat, sample_texts)
    }
}

/// The declarations of the exposed tools.
pub(super) fn declarations(terms: &Terms) -> Vec<serde_json::Value> {
    let one = |tool: &crate::contract::ToolTerms| {
        serde_json::json!({
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        })
    };
    terms.exposed_tools().map(one).collect()
}

/// A conversation and the notices of this request only.
pub(super) fn messages(
    conversation: &[Arc<AgentMessage>],
    notices: &[AgentMessage],
) -> Vec<ChatMessage> {
    let mut requested: Vec<(&str, &str)> = Vec::new();
    let mut messages = Vec::with_capacity(conversation.len() + notices.len());
    for message in conversation.iter().map(AsRef::as_ref).chain(notices) {
        if !message.tool_calls.is_empty() {
            requested = message
                .tool_calls
                .iter()
                .map(|call| (call.id.as_str(), call.name.as_str()))
                .collect();
        }
        let id = message.tool_call_id.as_deref();
        let name = requested
            .iter()
            .find(|(requested, _)| Some(*requested) == id);
        let calls = message.tool_calls.iter().map(|call| ChatCall {
            function: ChatFunction {
                arguments: call.arguments.to_value(),
                name: call.name.clone(),
            },
            kind: "function".to_owned(),
        });
        messages.push(ChatMessage {
            content: message.content.clone(),
            name: name.map(|(_, name)| (*name).to_owned()),
            role: message.role,
            tool_calls: calls.collect(),
        });
    }
    messages
}
