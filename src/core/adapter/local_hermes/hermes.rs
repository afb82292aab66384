//! The description of tools for Hermes models, and the form in which these write calls. Another text profile would replace only
//! this part.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::adapter::calls::{CallFields, GatheredCall, MAX_CALLS, ValidCalls, validate};
use crate::adapter::fold::{Failure, Rules};
use crate::adapter::invented::ResultScanner;
use crate::adapter::json::{given, object};
use crate::contract::{CALL_CLOSE, CALL_OPEN, Terms};
use crate::message::{AgentMessage, FailureCode, Members, ObjectFault, ObjectText, Role};

/// A pointer names the whole call: the flaw is in the text of a model, not in fields of a wire format.
const FIELDS: CallFields = CallFields {
    arguments: "",
    id: "",
    name: "",
};

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
}

/// The tools in the system prompt; empty if none is exposed.
pub(super) fn tools_prompt(terms: &Terms) -> Option<String> {
    let mut tools = String::new();
    for tool in terms.exposed_tools() {
        let declaration = Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
        };
        // A declaration has string keys and no fallible parts.
        tools.push_str(&serde_json::to_string(&declaration).unwrap_or_default());
        tools.push('\n');
    }
    (!tools.is_empty()).then(|| {
        format!(
            "You can call these tools. Each line within <tools></tools> is one tool with the JSON Schema of its arguments:\n\
             <tools>\n{tools}</tools>\n\
             To call a tool, write one JSON object with its name and its arguments, and nothing else:\n\
             {CALL_OPEN}\n{{\"name\":<name>,\"arguments\":<arguments>}}\n{CALL_CLOSE}\n\
             The result comes back within <tool_response></tool_response>. Answer in words once you know enough."
        )
    })
}

/// A message's text as the prompt has it, after its role and a line feed.
pub(super) fn body(message: &AgentMessage) -> String {
    if message.role == Role::Tool {
        return format!("<tool_response>\n{}\n</tool_response>", message.content);
    }
    let mut text = message.content.clone();
    for call in &message.tool_calls {
        if !text.is_empty() {
            text.push('\n');
        }
        let name = serde_json::Value::from(call.name.as_str());
        let arguments = call.arguments.as_str();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{CALL_OPEN}\n{{\"name\":{name},\"arguments\":{arguments}}}\n{CALL_CLOSE}"
        );
    }
    text
}

/// Text beside calls, and the calls.
pub(super) struct Parsed {
    pub(super) content: String,
    pub(super) validated: ValidCalls,
}

/// Separates calls from text. Where a call begins, a whole one has to follow: nothing is guessed.
///
/// # Errors
/// What is wrong with the first call that is none, and which call of the message it is; a text that may be the answer and
/// holds a tool's result.
pub(super) fn parse(text: &str, model: &str, rules: Rules) -> Result<Parsed, Failure> {
    let mut calls: Vec<GatheredCall> = Vec::new();
    let mut content = String::new();
    let mut rest = text;
    let mut results = ResultScanner::default();
    while let Some((before, after)) = rest.split_once(CALL_OPEN) {
        content.push_str(before);
        results.push(before);
        results.begin_line();
        let pointer = format!("/tool_calls/{}", calls.len());
        if calls.len() == MAX_CALLS {
            return Err(Failure::new(FailureCode::TooManyCalls, pointer));
        }
        let (name, arguments, behind) =
            call(after).map_err(|code| Failure::new(code, pointer.as_str()))?;
        calls.push(GatheredCall {
            arguments,
            flaw: None,
            id: String::new(),
            name,
            pointer,
        });
        rest = behind;
    }
    content.push_str(rest);
    results.push(rest);
    let names = calls.iter().map(|call| call.name.as_str());
    if results.has_found() && rules.may_answer(names) {
        return Err(Failure::new(FailureCode::CallShape, "").around(text, 0));
    }
    if !calls.is_empty() {
        content = content.trim().to_owned();
    }
    let validated = validate(calls, &FIELDS, model, rules)?;
    Ok(Parsed { content, validated })
}

/// One call behind its opening marker: name, the text of its arguments, and what follows its closing marker.
fn call(text: &str) -> Result<(String, String, &str), FailureCode> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let whole = match values.next() {
        Some(Ok(whole)) => whole.get(),
        Some(Err(_)) | None => return Err(FailureCode::ArgsInvalidJson),
    };
    let behind = text.get(values.byte_offset()..).unwrap_or_default();
    let behind = behind
        .trim_start()
        .strip_prefix(CALL_CLOSE)
        .ok_or(FailureCode::CallShape)?;
    // The arguments are validated later, beside those of the other calls.
    sound(&without_arguments(whole).ok_or(FailureCode::CallShape)?)?;
    let call: WireCall<'_> = object(whole).ok_or(FailureCode::CallShape)?;
    let name = call.name.filter(|name| !name.is_empty());
    let name = name.ok_or(FailureCode::CallNameMissing)?;
    let arguments = call.arguments.map_or("", RawValue::get).to_owned();
    Ok((name, arguments, behind))
}

/// Checks that the keys of a call are unambiguous at any depth.
fn sound(object: &str) -> Result<(), FailureCode> {
    match ObjectText::parse(object) {
        Ok(_) => Ok(()),
        Err(ObjectFault::InvalidJson { .. }) => Err(FailureCode::ArgsInvalidJson),
        Err(ObjectFault::NotObject | ObjectFault::DuplicateKey) => Err(FailureCode::CallShape),
        Err(ObjectFault::TooDeep) => Err(FailureCode::ArgsTooDeep),
    }
}

/// The object of a call with nothing in its arguments; none if it is no object.
fn without_arguments(whole: &str) -> Option<String> {
    let Members(members) = object(whole)?;
    let member = |(key, value): (String, &RawValue)| {
        let value = if key == "arguments" {
            "{}"
        } else {
            value.get()
        };
        format!("{}:{value}", serde_json::Value::from(key))
    };
    let members: Vec<String> = members.into_iter().map(member).collect();
    Some(format!("{{{}}}", members.join(",")))
}

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(default, borrow, deserialize_with = "given")]
    arguments: Option<&'a RawValue>,
    name: Option<String>,
}
