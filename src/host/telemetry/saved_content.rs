//! The content of a message of a saved conversation: a text, or parts as several APIs have them. Does not know what came before
//! it.

use serde::Deserialize;
use serde_json::value::RawValue;

use monolith_core::kernel::{failure, is_failure};
use monolith_core::message::{FailureCode, ObjectText, Role, ToolInvocation};

/// The content of a message.
#[derive(Default)]
pub(super) struct SavedContent {
    /// Calls of tools among its parts.
    pub(super) calls: Vec<SavedCall>,
    pub(super) reasoning: Option<String>,
    /// Results of calls: the id of each call, and its text, of a failure as monolith has it.
    pub(super) results: Vec<(String, String)>,
    /// `None` if it has no text.
    pub(super) text: Option<String>,
}

/// A call as `--save` writes it, or as in OpenAI's API.
#[derive(Default, Deserialize)]
pub(super) struct SavedCall {
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

/// One part, as OpenAI's and Anthropic's APIs have them.
#[derive(Deserialize)]
struct SavedPart {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    content: Option<Box<RawValue>>,
    #[serde(default)]
    id: Option<String>,
    /// True if a result is a failure.
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    input: Option<Box<RawValue>>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    tool_use_id: Option<String>,
}

impl SavedContent {
    /// Reads it.
    ///
    /// # Errors
    /// The member that cannot be taken, and why.
    pub(super) fn of(content: Option<&RawValue>, role: Role) -> Result<Self, String> {
        let mut read = Self::default();
        let Some(raw) = content.map(RawValue::get).filter(|raw| *raw != "null") else {
            return Ok(read);
        };
        if let Ok(text) = serde_json::from_str(raw) {
            read.text = Some(text);
            return Ok(read);
        }
        let parts: Vec<Box<RawValue>> = serde_json::from_str(raw)
            .map_err(|_| "content is neither a text nor a list of parts".to_owned())?;
        for (at, part) in parts.iter().enumerate() {
            let at = format!("content.{at}");
            let part = serde_json::from_str(part.get()).map_err(|_| format!("{at} is no part"))?;
            read.take(&at, part, role)?;
        }
        if parts.is_empty() {
            read.text = Some(String::new());
        }
        Ok(read)
    }

    fn take(&mut self, at: &str, part: SavedPart, role: Role) -> Result<(), String> {
        let missing = |key: &str| format!("{at}: `{key}` is missing");
        match part.kind.as_deref() {
            None | Some("text" | "input_text" | "output_text") => {
                let text = part.text.ok_or_else(|| missing("text"))?;
                self.text.get_or_insert_default().push_str(&text);
            }
            Some("thinking") if role == Role::Assistant => {
                let text = part.thinking.ok_or_else(|| missing("thinking"))?;
                self.reasoning.get_or_insert_default().push_str(&text);
            }
            Some("tool_use") if role == Role::Assistant => {
                self.calls.push(SavedCall {
                    arguments: Some(part.input.ok_or_else(|| missing("input"))?),
                    id: part.id.ok_or_else(|| missing("id"))?,
                    name: Some(part.name.ok_or_else(|| missing("name"))?),
                    ..SavedCall::default()
                });
            }
            Some("tool_use") => {
                return Err(format!("{at} calls a tool; only the assistant does"));
            }
            Some("tool_result") if role == Role::User => {
                let id = part.tool_use_id.ok_or_else(|| missing("tool_use_id"))?;
                // What a user says beside results comes after them.
                if self.text.is_some() {
                    return Err(format!(
                        "{at} is the result of a call, and stands behind a text"
                    ));
                }
                let content = part.content.as_deref();
                let content = Self::of(content, Role::Tool).map_err(|why| format!("{at}.{why}"))?;
                let text = content.text.unwrap_or_default();
                self.results.push((id, result_of(text, part.is_error)));
            }
            Some("tool_result") => {
                return Err(format!(
                    "{at} is the result of a call; only a user's message has one"
                ));
            }
            Some(other) => {
                return Err(format!(
                    "{at} is a part of the type {other:?}; text, tool_use and tool_result are taken"
                ));
            }
        }
        Ok(())
    }
}

/// The text of a result, of a failure as monolith has it.
pub(super) fn result_of(text: String, is_error: Option<bool>) -> String {
    if is_error == Some(true) && !is_failure(&text) {
        failure(&text)
    } else {
        text
    }
}

impl SavedCall {
    /// The call, its arguments byte for byte. Some programs write them as a text that holds the object.
    pub(super) fn invocation(self) -> Result<ToolInvocation, String> {
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
