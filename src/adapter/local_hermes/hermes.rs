//! How Hermes models are told of tools, and how they write calls. The only part that another text profile would replace.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::calls::MAX_CALLS;
use crate::contract::{CALL_CLOSE, CALL_OPEN, Terms};
use crate::message::{AgentMessage, FailureCode, ObjectFault, ObjectText, Role, ToolInvocation};

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
}

/// What the system prompt says of the tools; nothing where none is exposed.
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

/// A message's text as it stands in the prompt, after its role and a line feed.
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
    pub(super) calls: Vec<ToolInvocation>,
    pub(super) content: String,
}

/// Tells calls from text. Where a call begins, a whole one has to follow: nothing is guessed.
///
/// # Errors
/// What is wrong with the first call that is none, and which call of the message it is.
pub(super) fn parse(text: &str, model: &str) -> Result<Parsed, (FailureCode, usize)> {
    let mut calls: Vec<ToolInvocation> = Vec::new();
    let mut content = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(CALL_OPEN) {
        content.push_str(before);
        let at = calls.len();
        if at == MAX_CALLS {
            return Err((FailureCode::TooManyCalls, at));
        }
        let (name, arguments, behind) = call(after).map_err(|code| (code, at))?;
        calls.push(ToolInvocation {
            arguments,
            id: format!("call_{}", at + 1),
            name,
            raw_payload: None,
            source_model: model.to_owned(),
        });
        rest = behind;
    }
    content.push_str(rest);
    if !calls.is_empty() {
        content = content.trim().to_owned();
    }
    Ok(Parsed { calls, content })
}

/// One call behind its opening marker: name, arguments, and what follows its closing marker.
fn call(text: &str) -> Result<(String, ObjectText, &str), FailureCode> {
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
    let whole = ObjectText::parse(whole).map_err(|fault| match fault {
        ObjectFault::InvalidJson { .. } => FailureCode::ArgsInvalidJson,
        ObjectFault::NotObject | ObjectFault::DuplicateKey => FailureCode::CallShape,
        ObjectFault::TooDeep => FailureCode::ArgsTooDeep,
    })?;
    let call: WireCall<'_> =
        serde_json::from_str(whole.as_str()).map_err(|_| FailureCode::CallShape)?;
    let name = call.name.filter(|name| !name.is_empty());
    let name = name.ok_or(FailureCode::CallNameMissing)?;
    let arguments = call.arguments.ok_or(FailureCode::ArgsNotObject)?;
    let arguments = ObjectText::parse(arguments.get()).map_err(|fault| match fault {
        ObjectFault::InvalidJson { .. } => FailureCode::ArgsInvalidJson,
        ObjectFault::NotObject => FailureCode::ArgsNotObject,
        ObjectFault::DuplicateKey => FailureCode::ArgsDuplicateKey,
        ObjectFault::TooDeep => FailureCode::ArgsTooDeep,
    })?;
    Ok((name, arguments, behind))
}

#[derive(serde::Deserialize)]
struct WireCall<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    name: Option<String>,
}
