//! Renders a conversation as messages without calls, each once. Does not know the wire format that carries them.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::payload::ArgumentsKey;
use super::{json_calls, payload};
use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::marks::{CONTROL, LLAMA3, TAGGED};
use crate::adapter::openai_tools::FunctionTool;
use crate::adapter::rendered_messages::common;
use crate::contract::{GateGrammar, GrammarLanguage, Terms, TextProfile};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role, ToolInvocation};

/// Renders a conversation as messages without calls, each once, for the encoder of a wire protocol.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    /// The rendered messages, each with the length of `plain` after it.
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
            tools: tools(profile, terms),
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
            without_state: false,
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
        state: message.state.clone(),
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
        let name = Value::from(call.name.as_str());
        let arguments = CONTROL.in_json(call.arguments.as_str());
        let json = format!("{{\"name\": {name}, \"{key}\": {arguments}}}");
        let _ = if llama {
            write!(out, "{}{json}", if index > 0 { "; " } else { "" })
        } else {
            let line = if out.is_empty() { "" } else { "\n" };
            let (open, close) = (payload::OPEN, payload::CLOSE);
            write!(out, "{line}{open}\n{json}\n{close}")
        };
    }
    out
}

/// Formats a tool's result for the family's prompt.
fn result(profile: TextProfile, name: Option<&str>, text: &str) -> String {
    match profile {
        TextProfile::Llama3 => LLAMA3.escape(text).into_owned(),
        TextProfile::Qwen => {
            format!("<tool_response>\n{}\n</tool_response>", TAGGED.escape(text))
        }
        TextProfile::Hermes => {
            let content = Value::from(TAGGED.escape(text));
            let named = name.map_or_else(String::new, |name| {
                format!("\"name\": {}, ", Value::from(name))
            });
            format!("<tool_response>\n{{{named}\"content\": {content}}}\n</tool_response>")
        }
    }
}

/// The part of a system prompt about the tools and how to call them; none if no tool is exposed.
pub(super) fn tools(profile: TextProfile, terms: &Terms) -> Option<String> {
    let marks = match profile {
        TextProfile::Hermes | TextProfile::Qwen => TAGGED,
        TextProfile::Llama3 => LLAMA3,
    };
    let offers: Vec<String> = FunctionTool::exposed(terms)
        .iter()
        .map(|tool| {
            let json = serde_json::to_string(tool);
            debug_assert!(json.is_ok(), "a tool's definition did not serialise");
            marks.in_json(&json.unwrap_or_default())
        })
        .collect();
    if offers.is_empty() {
        return None;
    }
    let listed = offers.join("\n");
    Some(match profile {
        TextProfile::Hermes => hermes(&listed),
        TextProfile::Qwen => qwen(&listed),
        TextProfile::Llama3 => llama3(&listed),
    })
}

fn hermes(tools: &str) -> String {
    let mut text = String::from(
        "You are a function calling AI model. You are provided with function signatures within <tools></tools> XML tags. \
         You may call one or more functions to assist with the user query. Don't make assumptions about what values to \
         plug into functions. Here are the available tools:\n",
    );
    let _ = write!(
        text,
        "<tools>\n{tools}\n</tools>\n\
         For each function call return a JSON object with the function name and its arguments within \
         <tool_call></tool_call> XML tags as follows:\n\
         <tool_call>\n{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call>"
    );
    text
}

fn qwen(tools: &str) -> String {
    format!(
        "# Tools\n\n\
         You may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n\
         <tools>\n{tools}\n</tools>\n\n\
         For each function call, return a json object with function name and arguments within <tool_call></tool_call> \
         XML tags:\n\
         <tool_call>\n{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call>"
    )
}

fn llama3(tools: &str) -> String {
    format!(
        "You have access to the following functions. To call a function, respond with a JSON object for a function call \
         with its proper arguments and nothing else.\n\
         Respond in the format {{\"name\": function name, \"parameters\": dictionary of argument name and its value}}. \
         Do not use variables.\n\n{tools}"
    )
}

/// The end of a body: an object's brace.
const END: &[u8] = b"}";

/// Adds the token gate's grammar to the bodies of a text profile, in the field `grammar` that a llama-server reads: calls
/// and nothing else while the gate is closed, anything but calls where tools are withheld.
#[derive(Debug)]
pub(in crate::adapter) struct Gated {
    /// `,"grammar":"…"}` of the closed phase; none if the contract closes no gate.
    closed: Option<Vec<u8>>,
    layer: Box<dyn Encode>,
    /// The same of a message without calls.
    prose: Vec<u8>,
}

impl Gated {
    /// The gate over `layer`, where the contract's grammar is one that a server reads; else `layer` itself.
    pub(in crate::adapter) fn over(terms: &Terms, layer: Box<dyn Encode>) -> Box<dyn Encode> {
        if terms.grammar_profile.as_deref() != Some(GrammarLanguage::Gbnf.profile()) {
            return layer;
        }
        Box::new(Self {
            closed: terms.grammar.as_deref().map(field),
            layer,
            prose: field(&GateGrammar::prose(GrammarLanguage::Gbnf).text),
        })
    }
}

impl Encode for Gated {
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
        let body = self.layer.encode(conversation, shape);
        let field = match shape.tools {
            ToolExposure::Forced => self.closed.as_ref(),
            ToolExposure::Withheld => Some(&self.prose),
            ToolExposure::Auto => None,
        };
        if let Some(field) = field
            && let Some(begun) = body.strip_suffix(END)
        {
            return RequestBody::whole([begun, field].concat());
        }
        body
    }
}

fn field(grammar: &str) -> Vec<u8> {
    format!(",\"grammar\":{}}}", Value::from(grammar)).into_bytes()
}
