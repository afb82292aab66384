//! Renders a conversation as messages without calls, each once. Does not know the wire format that carries them.

use std::fmt::Write as _;
use std::sync::Arc;

use super::payload::ArgumentsKey;
use super::{json_calls, prompt, tags};
use crate::adapter::RequestShape;
use crate::adapter::body::RequestBody;
use crate::adapter::encode::Encode;
use crate::adapter::marks::{CONTROL, LLAMA3, TAGGED};
use crate::adapter::rendered_messages::common;
use crate::contract::{Terms, TextProfile};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role, ToolInvocation};

/// Renders a conversation as messages without calls, each once, for the encoder of a wire protocol.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    /// What was rendered, and how many of `plain` there were after it.
    rendered_messages: Vec<(Arc<AgentMessage>, usize)>,
    /// The conversation after its system prompt, rendered.
    plain: Vec<Arc<AgentMessage>>,
    profile: TextProfile,
    /// The system prompt as it is and with the tools.
    system: Option<(Arc<AgentMessage>, Arc<AgentMessage>)>,
    /// The description of the tools; none if no tool is exposed.
    tools: Option<String>,
    wire: Box<dyn Encode>,
}

impl Encoder {
    pub(in crate::adapter) fn new(
        profile: TextProfile,
        terms: &Terms,
        wire: Box<dyn Encode>,
    ) -> Self {
        Self {
            rendered_messages: Vec::new(),
            plain: Vec::new(),
            profile,
            system: None,
            tools: prompt::tools(profile, terms),
            wire,
        }
    }

    /// Brings `plain` up to `conversation`, which has no system prompt at its head.
    fn keep(&mut self, conversation: &[Arc<AgentMessage>]) {
        let mut common = common(&self.rendered_messages, conversation);
        if common < self.rendered_messages.len() {
            // Results that share a message are rendered together: back to the first of them.
            let is_result = |at: usize| {
                let role = self
                    .rendered_messages
                    .get(at)
                    .map(|(message, _)| message.role);
                role == Some(Role::Tool)
            };
            while common > 0 && is_result(common) && is_result(common - 1) {
                common -= 1;
            }
            self.rendered_messages.truncate(common);
            let rendered = self
                .rendered_messages
                .last()
                .map_or(0, |(_, rendered)| *rendered);
            self.plain.truncate(rendered);
        }
        let mut at = common;
        while let Some(message) = conversation.get(at) {
            let run = conversation.get(at..).map_or(0, |rest| {
                rest.iter().take_while(|m| m.role == Role::Tool).count()
            });
            if run > 0 && self.profile != TextProfile::Llama3 {
                self.results(conversation, at, run);
                at += run;
            } else {
                let name = called(conversation, at).map(|call| call.name.as_str());
                self.plain.push(render(self.profile, message, name));
                self.rendered_messages
                    .push((Arc::clone(message), self.plain.len()));
                at += 1;
            }
        }
    }

    /// Renders the results from `at` on as one message of the user, joined to a previous one.
    fn results(&mut self, conversation: &[Arc<AgentMessage>], at: usize, count: usize) {
        let joins = self
            .rendered_messages
            .last()
            .is_some_and(|(m, _)| m.role == Role::Tool);
        let last_turn = if joins { self.plain.pop() } else { None };
        let mut text = last_turn.map_or_else(String::new, |message| message.content.clone());
        for (index, message) in conversation.iter().enumerate().skip(at).take(count) {
            let name = called(conversation, index).map(|call| call.name.as_str());
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&result(self.profile, name, &message.content));
            self.rendered_messages
                .push((Arc::clone(message), self.plain.len() + 1));
        }
        let message = AgentMessage::text(Role::User, text, 0);
        self.plain.push(Arc::new(message));
    }

    /// The system prompt to send before the conversation, and the conversation after its own.
    fn system<'a>(
        &mut self,
        conversation: &'a [Arc<AgentMessage>],
        with_tools: bool,
    ) -> (Option<Arc<AgentMessage>>, &'a [Arc<AgentMessage>]) {
        let own = conversation.first().filter(|m| m.role == Role::System);
        let rest = conversation.get(usize::from(own.is_some())..);
        let rest = rest.unwrap_or_default();
        let Some(tools) = self.tools.as_deref().filter(|_| with_tools) else {
            return (own.map(Arc::clone), rest);
        };
        let is_current = self.system.as_ref().is_some_and(|(system, _)| match own {
            Some(own) => Arc::ptr_eq(system, own) || system == own,
            None => system.content.is_empty(),
        });
        if !is_current {
            let own = own.map_or_else(
                || Arc::new(AgentMessage::text(Role::System, "", 0)),
                Arc::clone,
            );
            let text = if own.content.is_empty() {
                tools.to_owned()
            } else {
                format!("{}\n\n{tools}", own.content)
            };
            let with_tools = Arc::new(AgentMessage::text(Role::System, text, 0));
            self.system = Some((own, with_tools));
        }
        let sent = self.system.as_ref().map(|(_, sent)| Arc::clone(sent));
        (sent, rest)
    }
}

impl Encode for Encoder {
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
        let with_tools = shape.tools != ToolExposure::Withheld;
        let (system, rest) = self.system(conversation, with_tools);
        self.keep(rest);
        let sent: Vec<Arc<AgentMessage>> = system
            .into_iter()
            .chain(self.plain.iter().map(Arc::clone))
            .collect();
        let notices: Vec<AgentMessage> = shape
            .notices
            .iter()
            .map(|notice| {
                Arc::unwrap_or_clone(render(self.profile, &Arc::new(notice.clone()), None))
            })
            .collect();
        let shape = RequestShape {
            closing: false,
            xml: None,
            notices: &notices,
            tools: ToolExposure::Withheld,
        };
        self.wire.encode(&sent, &shape)
    }
}

/// The call that the message at `at` answers: of the nearest message before it that has calls.
fn called(conversation: &[Arc<AgentMessage>], at: usize) -> Option<&ToolInvocation> {
    let id = conversation.get(at)?.tool_call_id.as_deref()?;
    let before = conversation.get(..at)?.iter().rev();
    let mut requested = before.skip_while(|message| message.tool_calls.is_empty());
    requested
        .next()?
        .tool_calls
        .iter()
        .find(|call| call.id == id)
}

/// One message as plain chat carries it.
fn render(
    profile: TextProfile,
    message: &Arc<AgentMessage>,
    name: Option<&str>,
) -> Arc<AgentMessage> {
    let text = message.content.as_str();
    let content = match (message.role, profile) {
        (Role::System, _) => return Arc::clone(message),
        (Role::Assistant, _) => assistant_text(profile, text, &message.tool_calls),
        (Role::User, TextProfile::Llama3) => LLAMA3.escape(text).into_owned(),
        (Role::User, TextProfile::Hermes | TextProfile::Qwen) => TAGGED.escape(text).into_owned(),
        (Role::Tool, _) => result(profile, name, text),
    };
    Arc::new(AgentMessage {
        tool_call_id: message.tool_call_id.clone(),
        ..AgentMessage::text(message.role, content, 0)
    })
}

/// The model's text and calls, as it would write them.
pub(super) fn assistant_text(profile: TextProfile, text: &str, calls: &[ToolInvocation]) -> String {
    let llama = profile == TextProfile::Llama3;
    let escaped = if llama {
        json_calls::escape(text)
    } else {
        TAGGED.escape(text)
    };
    let mut out = escaped.into_owned();
    if calls.is_empty() {
        return out;
    }
    let parsed = out.trim_end().len();
    out.truncate(parsed);
    if llama {
        out.push_str(json_calls::TAG);
    }
    for (index, call) in calls.iter().enumerate() {
        let key = if llama {
            ArgumentsKey::Parameters.as_str()
        } else {
            ArgumentsKey::Arguments.as_str()
        };
        let name = serde_json::Value::from(call.name.as_str());
        let arguments = CONTROL.in_json(call.arguments.as_str());
        let json = format!("{{\"name\": {name}, \"{key}\": {arguments}}}");
        let _ = if llama {
            write!(out, "{}{json}", if index > 0 { "; " } else { "" })
        } else {
            let line = if out.is_empty() { "" } else { "\n" };
            let (open, close) = (tags::OPEN, tags::CLOSE);
            write!(out, "{line}{open}\n{json}\n{close}")
        };
    }
    out
}

/// What a tool gave back, as the family's prompt has it.
fn result(profile: TextProfile, name: Option<&str>, text: &str) -> String {
    match profile {
        TextProfile::Llama3 => LLAMA3.escape(text).into_owned(),
        TextProfile::Qwen => {
            format!("<tool_response>\n{}\n</tool_response>", TAGGED.escape(text))
        }
        TextProfile::Hermes => {
            let content = serde_json::Value::from(TAGGED.escape(text));
            let named = name.map_or_else(String::new, |name| {
                format!("\"name\": {}, ", serde_json::Value::from(name))
            });
            format!("<tool_response>\n{{{named}\"content\": {content}}}\n</tool_response>")
        }
    }
}
