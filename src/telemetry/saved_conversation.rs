//! Reads a conversation that was saved, with `--save` or by another program (001 §11). Opens no file.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::contract::FINAL_REPORT;
use crate::message::{AgentMessage, FailureCode, ObjectText, Role, ToolInvocation};

/// The most messages of a conversation.
const MOST_MESSAGES: usize = 10_000;
/// What a final report holds, by its arguments.
const REPORTED: [&str; 3] = ["report_content", "content_json", "messages"];

/// Why a saved conversation cannot be gone on with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SavedFault {
    #[error("it is no JSON array of messages: {reason}")]
    NotMessages { reason: String },
    #[error("it has {count} messages, at most {MOST_MESSAGES} are read")]
    TooMany { count: usize },
    /// A message that cannot stand there; its number counts from 1.
    #[error("message {number}: {rule}")]
    Message { number: usize, rule: String },
}

/// A message as `--save` writes it; other programs call some of its members otherwise.
#[derive(Deserialize)]
struct SavedMessage {
    role: Role,
    content: Option<Value>,
    #[serde(default, alias = "toolCalls")]
    tool_calls: Vec<SavedCall>,
    #[serde(default, alias = "toolCallId")]
    tool_call_id: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
}

#[derive(Deserialize)]
struct SavedCall {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, alias = "parameters")]
    arguments: Option<Box<RawValue>>,
    /// Both where they are written as in OpenAI's API.
    #[serde(default)]
    function: Option<SavedFunction>,
    #[serde(default)]
    fault: Option<FailureCode>,
}

#[derive(Deserialize)]
struct SavedFunction {
    name: String,
    arguments: Box<RawValue>,
}

/// The messages of a saved conversation without its system prompt, which is that of the agent. Tokens are not counted. A final report is
/// text in it.
///
/// # Errors
/// [`SavedFault`], with the number of the message.
pub(crate) fn saved_conversation(text: &str) -> Result<Vec<AgentMessage>, SavedFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let saved: Vec<SavedMessage> =
        serde_json::from_str(text).map_err(|fault| SavedFault::NotMessages {
            reason: fault.to_string(),
        })?;
    if saved.len() > MOST_MESSAGES {
        let count = saved.len();
        return Err(SavedFault::TooMany { count });
    }
    let mut history = History::default();
    for (index, message) in saved.into_iter().enumerate() {
        let number = index + 1;
        let refused = |rule| SavedFault::Message { number, rule };
        history.take(number, message).map_err(refused)?;
    }
    history.closed()
}

/// What a message says: a text, or several that stand in parts.
fn text_of(content: Option<Value>) -> Result<Option<String>, String> {
    let parts = match content {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => return Ok(Some(text)),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err("its content is no text".to_owned()),
    };
    let text = parts.iter().map(|part| {
        let kind = part.get("type").and_then(Value::as_str);
        let text = part.get("text").and_then(Value::as_str);
        text.filter(|_| matches!(kind, None | Some("text")))
    });
    let text: Option<String> = text.collect();
    let text = text.ok_or("a part of its content is no text")?;
    Ok(Some(text))
}

/// The conversation so far.
#[derive(Default)]
struct History {
    messages: Vec<AgentMessage>,
    /// The calls of the last message of the model that have no answer yet.
    open: BTreeSet<String>,
    /// The number of that message.
    asked_by: usize,
}

impl History {
    fn take(&mut self, number: usize, message: SavedMessage) -> Result<(), String> {
        let is_answer = message.role == Role::Tool;
        if !is_answer && let Some(call) = self.open.first() {
            return Err(format!("the call {call} before it has no answer"));
        }
        if message.role != Role::Assistant && !message.tool_calls.is_empty() {
            return Err("only a message of the assistant calls tools".to_owned());
        }
        match message.role {
            Role::System if number == 1 => return Ok(()),
            Role::System => return Err("a system prompt stands at the beginning alone".to_owned()),
            Role::Tool => {
                let content = text_of(message.content)?.unwrap_or_default();
                let id = message.tool_call_id.as_deref();
                let id = id.ok_or("it names no call that it answers: tool_call_id is missing")?;
                if !self.open.remove(id) {
                    return Err(format!("it answers the call {id}, which is not open there"));
                }
                self.messages
                    .push(AgentMessage::observation(id, content, 0));
            }
            Role::User => {
                let content = text_of(message.content)?;
                let content = content.ok_or("it has no content")?;
                self.messages
                    .push(AgentMessage::text(Role::User, content, 0));
            }
            Role::Assistant => self.model_said(number, message)?,
        }
        Ok(())
    }

    fn model_said(&mut self, number: usize, message: SavedMessage) -> Result<(), String> {
        let mut content = text_of(message.content)?.unwrap_or_default();
        let mut calls = Vec::new();
        for call in message.tool_calls {
            let call = call.invocation()?;
            // A report was never answered: what it says is what the model said.
            if call.name == FINAL_REPORT {
                if content.trim().is_empty() {
                    content = reported(&call.arguments);
                }
                continue;
            }
            if !self.open.insert(call.id.clone()) {
                return Err(format!("two of its calls have the id {}", call.id));
            }
            calls.push(call);
        }
        self.asked_by = number;
        let said = AgentMessage {
            reasoning: message.reasoning,
            tool_calls: calls,
            ..AgentMessage::text(Role::Assistant, content, 0)
        };
        if !said.is_blank() || !said.tool_calls.is_empty() {
            self.messages.push(said);
        }
        Ok(())
    }

    fn closed(self) -> Result<Vec<AgentMessage>, SavedFault> {
        match self.open.first() {
            None => Ok(self.messages),
            Some(call) => Err(SavedFault::Message {
                number: self.asked_by,
                rule: format!("its call {call} has no answer"),
            }),
        }
    }
}

impl SavedCall {
    /// The call, its arguments byte for byte. Some programs write them as a text that holds the object.
    fn invocation(self) -> Result<ToolInvocation, String> {
        let function = (self.name, self.arguments, self.function);
        let ((Some(name), Some(arguments), None)
        | (None, None, Some(SavedFunction { name, arguments }))) = function
        else {
            return Err(format!(
                "the call {} has no `name` and `arguments`, there or in its `function`",
                self.id
            ));
        };
        let raw = arguments.get();
        let inner: Option<String> = serde_json::from_str(raw).ok();
        let arguments = ObjectText::parse(inner.unwrap_or_else(|| raw.to_owned()));
        let arguments =
            arguments.map_err(|fault| format!("the arguments of the call {}: {fault}", self.id))?;
        Ok(ToolInvocation {
            arguments,
            fault: self.fault,
            id: self.id,
            name,
            raw_payload: None,
            source_model: String::new(),
        })
    }
}

/// What a final report says.
fn reported(arguments: &ObjectText) -> String {
    let arguments = arguments.to_value();
    let found = REPORTED.iter().find_map(|name| arguments.get(*name));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 001/11.direct.7
    #[test]
    fn a_conversation_is_read_as_it_is_saved_and_as_others_save_it() {
        let check = |text: &str, expect: &[&str]| {
            let messages = saved_conversation(text).unwrap();
            let shown = messages.iter().map(|message| {
                let calls = message.tool_calls.iter();
                let calls = calls.map(|call| format!(" {}{}", call.name, call.arguments.as_str()));
                let answers = message.tool_call_id.iter().map(|id| format!(" to {id}"));
                let more: String = calls.chain(answers).collect();
                format!("{:?} {}{more}", message.role, message.content)
            });
            assert_eq!(shown.collect::<Vec<_>>(), expect, "{text}");
        };
        check("[]", &[]);
        check(
            r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
                {"role":"assistant","content":"","tool_calls":[{"id":"a","name":"read","arguments":{"n": 1e2}}]},
                {"role":"tool","content":"x","tool_calls":[],"tool_call_id":"a"},
                {"role":"assistant","content":"Done.","tool_calls":[]}]"#,
            &[
                "User Hi",
                "Assistant  read{\"n\": 1e2}",
                "Tool x to a",
                "Assistant Done.",
            ],
        );
        check(
            r#"[{"role":"user","content":"Hi","metadata":{"a":1}},
                {"role":"assistant","content":null,"toolCalls":[{"id":"a","name":"read","parameters":{}}]},
                {"role":"tool","content":"x","toolCallId":"a"}]"#,
            &["User Hi", "Assistant  read{}", "Tool x to a"],
        );
        check(
            r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",
                "function":{"name":"read","arguments":"{\"n\":1}"}}]},
                {"role":"tool","content":"x","tool_call_id":"a"}]"#,
            &["Assistant  read{\"n\":1}", "Tool x to a"],
        );
        check(
            r#"[{"role":"user","content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]}]"#,
            &["User Hi"],
        );
        check(
            r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"agent__final_report",
                "arguments":"{\"report_content\":\"MIT.\"}"}]}]"#,
            &["Assistant MIT."],
        );
    }

    #[test]
    fn what_no_run_can_go_on_from_is_refused_with_its_message() {
        let check = |text: &str, expect: &str| {
            let fault = saved_conversation(text).unwrap_err().to_string();
            assert!(fault.contains(expect), "{text}: {fault}");
        };
        let user = r#"{"role":"user","content":"Hi"}"#;
        let asks = |ids: &[&str]| {
            let calls = ids.iter();
            let calls = calls.map(|id| format!(r#"{{"id":"{id}","name":"t","arguments":{{}}}}"#));
            let calls = calls.collect::<Vec<_>>().join(",");
            format!(r#"{{"role":"assistant","content":"","tool_calls":[{calls}]}}"#)
        };
        let answers =
            |id: &str| format!(r#"{{"role":"tool","content":"x","tool_call_id":"{id}"}}"#);
        check("{}", "no JSON array of messages");
        check(
            "[{\"role\":\"robot\",\"content\":\"\"}]",
            "no JSON array of messages",
        );
        check(
            &format!("[{user},{{\"role\":\"system\",\"content\":\"x\"}}]"),
            "message 2: a system prompt",
        );
        check(
            &format!("[{user},{}]", answers("a")),
            "message 2: it answers the call a",
        );
        check(
            &format!("[{},{user}]", asks(&["a"])),
            "message 2: the call a before it",
        );
        check(
            &format!("[{user},{}]", asks(&["a"])),
            "message 2: its call a has no answer",
        );
        check(
            &format!("[{}]", asks(&["a", "a"])),
            "message 1: two of its calls",
        );
        check("[{\"role\":\"user\"}]", "message 1: it has no content");
        check(
            r#"[{"role":"user","content":[{"type":"image","url":"x"}]}]"#,
            "message 1: a part of its content is no text",
        );
        check(
            r#"[{"role":"user","content":7}]"#,
            "message 1: its content is no text",
        );
        check(
            "[{\"role\":\"tool\",\"content\":\"x\"}]",
            "message 1: it names no call",
        );
        check(
            "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"a\",\"name\":\"t\",\"arguments\":[1]}]}]",
            "message 1: the arguments of the call a",
        );
    }
}
