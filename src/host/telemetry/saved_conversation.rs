//! Reads a conversation that was saved, with `--save` or by another program (001 §11). Opens no file.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::saved_content::{SavedCall, SavedContent, result_of};
use monolith_core::contract::FINAL_REPORT;
use monolith_core::message::{AgentMessage, ObjectText, Role, without_bom};

/// The most bytes of a file that is read as one.
pub const MOST_SAVED_BYTES: u64 = 64 << 20;
/// The most messages of a conversation.
const MOST_MESSAGES: usize = 10_000;
/// The arguments with the content of a final report.
const REPORTED: [&str; 3] = ["report_content", "content_json", "messages"];

/// The reason why a saved conversation cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedFault {
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
    role: String,
    #[serde(default)]
    content: Option<Box<RawValue>>,
    /// A call as an old API has it.
    #[serde(default)]
    function_call: Option<Box<RawValue>>,
    /// The model's refusal to answer.
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default, alias = "toolCalls")]
    tool_calls: Option<Vec<SavedCall>>,
    #[serde(default, alias = "toolCallId")]
    tool_call_id: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    /// True if the result of a call is a failure.
    #[serde(default, alias = "isError")]
    is_error: Option<bool>,
}

/// The messages of a saved conversation without its system prompt, which is that of the agent. Tokens are not counted. A final report is
/// text in it.
///
/// # Errors
/// `SavedFault`, with the number of the message.
pub fn saved_conversation(text: &str) -> Result<Vec<AgentMessage>, SavedFault> {
    let text = without_bom(text);
    let saved: Vec<Box<RawValue>> =
        serde_json::from_str(text).map_err(|fault| SavedFault::NotMessages {
            reason: fault.to_string(),
        })?;
    if saved.len() > MOST_MESSAGES {
        let count = saved.len();
        return Err(SavedFault::TooMany { count });
    }
    let read = saved.iter().map(|message| {
        let read = serde_json::from_str::<SavedMessage>(message.get());
        read.map_err(|fault| reason_of(&fault))
    });
    let read: Vec<Result<SavedMessage, String>> = read.collect();
    let answered = answered_behind(&read);
    let mut history = History::default();
    for (index, (message, answered)) in read.into_iter().zip(answered).enumerate() {
        let number = index + 1;
        let taken = message.and_then(|message| history.take(number, message, &answered));
        taken.map_err(|rule| SavedFault::Message { number, rule })?;
    }
    history.closed()
}

/// Of each message: the calls that have an answer behind it, before the model speaks again.
fn answered_behind(messages: &[Result<SavedMessage, String>]) -> Vec<BTreeSet<String>> {
    let mut behind = BTreeSet::new();
    let sets = messages.iter().rev().map(|message| {
        let Ok(message) = message else {
            return BTreeSet::new();
        };
        match role_of(&message.role) {
            Ok(Role::Assistant) => return std::mem::take(&mut behind),
            Ok(role @ (Role::Tool | Role::User)) => {
                let content = SavedContent::of(message.content.as_deref(), role);
                let results = content.map(|content| content.results).unwrap_or_default();
                behind.extend(results.into_iter().map(|(id, _)| id));
                behind.extend(message.tool_call_id.clone());
            }
            Ok(Role::System) | Err(_) => {}
        }
        BTreeSet::new()
    });
    let mut sets: Vec<_> = sets.collect();
    sets.reverse();
    sets
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
    /// `answered` are the calls that have an answer behind the message.
    fn take(
        &mut self,
        number: usize,
        message: SavedMessage,
        answered: &BTreeSet<String>,
    ) -> Result<(), String> {
        let role = role_of(&message.role)?;
        if message.function_call.is_some() {
            return Err("function_call is not taken; tool_calls is".to_owned());
        }
        let content = SavedContent::of(message.content.as_deref(), role)?;
        let is_answer = role == Role::Tool || !content.results.is_empty();
        if !is_answer && let Some(call) = self.open.first() {
            return Err(format!("the call {call} before it has no answer"));
        }
        let calls = message.tool_calls.unwrap_or_default();
        if role != Role::Assistant && !calls.is_empty() {
            return Err("only a message of the assistant calls tools".to_owned());
        }
        match role {
            Role::System if number == 1 => return Ok(()),
            Role::System => return Err("a system prompt stands at the beginning alone".to_owned()),
            Role::Tool => {
                let id = message.tool_call_id.as_deref();
                let id = id.ok_or("it names no call that it answers: tool_call_id is missing")?;
                let text = content.text.unwrap_or_default();
                self.answered(id, result_of(text, message.is_error))?;
            }
            Role::User => {
                let has_results = !content.results.is_empty();
                for (id, text) in content.results {
                    self.answered(&id, text)?;
                }
                match content.text {
                    None if has_results => {}
                    Some(_) if !self.open.is_empty() => {
                        let call = self.open.first().cloned().unwrap_or_default();
                        return Err(format!("the call {call} before it has no answer"));
                    }
                    text => {
                        let text = text.ok_or("it has no content")?;
                        self.messages.push(AgentMessage::text(Role::User, text, 0));
                    }
                }
            }
            Role::Assistant => {
                let calls: Vec<_> = calls.into_iter().chain(content.calls).collect();
                let reasoning = message.reasoning.or(content.reasoning);
                let text = content.text.or(message.refusal);
                if text.is_none() && reasoning.is_none() && calls.is_empty() {
                    return Err("it has neither content nor calls".to_owned());
                }
                let text = text.unwrap_or_default();
                self.take_assistant(number, (text, reasoning), calls, answered)?;
            }
        }
        Ok(())
    }

    /// The answer of a call that is open.
    fn answered(&mut self, id: &str, text: String) -> Result<(), String> {
        if !self.open.remove(id) {
            return Err(format!("it answers the call {id}, which is not open there"));
        }
        self.messages.push(AgentMessage::observation(id, text, 0));
        Ok(())
    }

    fn take_assistant(
        &mut self,
        number: usize,
        (mut content, reasoning): (String, Option<String>),
        saved: Vec<SavedCall>,
        answered: &BTreeSet<String>,
    ) -> Result<(), String> {
        let mut calls = Vec::new();
        for call in saved {
            let call = call.invocation()?;
            // The text of a report is the text of the message; one that was refused has its answer, as other calls have.
            if call.name == FINAL_REPORT && !answered.contains(&call.id) {
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
            reasoning,
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

/// The role, by the words of several APIs.
fn role_of(word: &str) -> Result<Role, String> {
    match word {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        other => Err(format!(
            "its role is {other:?}; there are system, developer, user, assistant and tool"
        )),
    }
}

/// Returns the reason why a message is invalid, without the line, which counts within the message.
fn reason_of(fault: &serde_json::Error) -> String {
    let text = fault.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}

/// Returns the text of a final report.
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
            r#"[{"role":"developer","content":"Be brief."},
                {"role":"user","content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]}]"#,
            &["User Hi"],
        );
        check(
            r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"read","arguments":{}}]},
                {"role":"tool","content":"gone","tool_call_id":"a","is_error":true}]"#,
            &["Assistant  read{}", "Tool (tool failed: gone) to a"],
        );
        // As Anthropic's API has it.
        check(
            r#"[{"role":"user","content":"Hi"},
                {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":"I read."},
                    {"type":"tool_use","id":"a","name":"read","input":{"n": 1e2}},{"type":"tool_use","id":"b","name":"read","input":{}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},
                    {"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"y"}]},
                    {"type":"text","text":"Go on."}]}]"#,
            &[
                "User Hi",
                "Assistant I read. read{\"n\": 1e2} read{}",
                "Tool x to a",
                "Tool (tool failed: y) to b",
                "User Go on.",
            ],
        );
        check(
            r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"agent__final_report",
                "arguments":"{\"report_content\":\"MIT.\"}"}]}]"#,
            &["Assistant MIT."],
        );
        // The first report was refused, the second one was the answer.
        let report = |id: &str, text: &str| {
            format!(
                r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"{id}","name":"agent__final_report","arguments":{{{text}}}}}]}}"#
            )
        };
        let (refused, taken) = (report("a", ""), report("b", r#""report_content":"MIT.""#));
        let shown = [
            "Assistant  agent__final_report{}",
            "Tool (tool failed: x) to a",
            "User Again.",
            "Assistant MIT.",
        ];
        check(
            &format!(
                r#"[{refused},{{"role":"tool","content":"(tool failed: x)","tool_call_id":"a"}},{{"role":"user","content":"Again."}},{taken}]"#
            ),
            &shown,
        );
        check(
            &format!(
                r#"[{refused},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"(tool failed: x)"}},{{"type":"text","text":"Again."}}]}},{taken}]"#
            ),
            &shown,
        );
        check(
            r#"[{"role":"assistant","content":null,"refusal":"I cannot."}]"#,
            &["Assistant I cannot."],
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
            "message 1: its role is \"robot\"; there are system, developer, ",
        );
        check(
            &format!("[{user},{{\"content\":\"\"}}]"),
            "message 2: missing field `role`",
        );
        check(&format!("[{user},7]"), "message 2: invalid type");
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
            r#"[{"role":"assistant","content":null,"function_call":{"name":"t","arguments":"{}"}}]"#,
            "message 1: function_call is not taken; tool_calls is",
        );
        check(
            r#"[{"role":"assistant","content":null,"audio":{"id":"a"}}]"#,
            "message 1: it has neither content nor calls",
        );
        check(
            r#"[{"role":"user","content":[{"type":"image","url":"x"}]}]"#,
            "message 1: content.0 is a part of the type \"image\"",
        );
        check(
            r#"[{"role":"user","content":7}]"#,
            "message 1: content is neither a text nor a list of parts",
        );
        check(
            "[{\"role\":\"tool\",\"content\":\"x\"}]",
            "message 1: it names no call",
        );
        let part = |role: &str, part: &str| {
            format!(r#"[{{"role":"{role}","content":[{{"type":"text","text":""}},{part}]}}]"#)
        };
        for (role, text, expect) in [
            (
                "user",
                r#"{"type":"tool_use","id":"a","name":"t","input":{}}"#,
                "content.1 calls a tool; only the assistant does",
            ),
            (
                "assistant",
                r#"{"type":"tool_use","name":"t","input":{}}"#,
                "content.1: `id` is missing",
            ),
            (
                "assistant",
                r#"{"type":"tool_result","tool_use_id":"a"}"#,
                "content.1 is the result of a call; only a user's message has one",
            ),
            (
                "user",
                r#"{"type":"tool_result","content":"x"}"#,
                "content.1: `tool_use_id` is missing",
            ),
            (
                "user",
                r#"{"type":"tool_result","tool_use_id":"a","content":"x"}"#,
                "content.1 is the result of a call, and stands behind a text",
            ),
            ("user", r#"{"type":"text"}"#, "content.1: `text` is missing"),
            ("user", "7", "content.1 is no part"),
        ] {
            check(&part(role, text), &format!("message 1: {expect}"));
        }
        check(
            &format!(
                r#"[{},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a"}},{{"type":"text","text":"x"}}]}}]"#,
                asks(&["a", "b"])
            ),
            "message 2: the call b before it",
        );
        check(
            "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"a\",\"name\":\"t\",\"arguments\":[1]}]}]",
            "message 1: the arguments of the call a",
        );
    }
}
