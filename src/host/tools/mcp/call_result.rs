//! Reads the result of a call. Does not cut it to a budget.
//!
//! A result is malformed only if it is not an object, or its content is not an array. Everything else decodes: a block that does not
//! fit its type reaches the model as JSON.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::elicitation::InputRequired;
use crate::tools::envelope::ToolResponse;
use monolith_core::contract::check_output;
use monolith_core::message::{Members, char_prefix};

/// Most blocks of one result that are not text.
const RESOURCES: usize = 1_000;
/// Maximum size of a quoted value.
const QUOTE_BYTES: usize = 80;
/// The type of a result that does not end its call.
const INPUT_REQUIRED: &str = "input_required";
/// The code of a call whose result cannot be used.
const INVALID_RESULT: &str = "INVALID_RESULT";
/// The code of a call whose structured result breaks the schema of its tool.
const OUTPUT_SCHEMA: &str = "OUTPUT_SCHEMA";

/// The answer to `tools/call`.
#[derive(Debug)]
pub(super) enum CallResult {
    /// The call is over.
    Complete(ToolResponse),
    /// The call continues once the server has the input that it asks for.
    InputRequired(InputRequired),
}

/// The members of a result.
pub(super) struct ResultMembers<'a> {
    members: Vec<(String, &'a RawValue)>,
    whole: &'a RawValue,
}

/// A block as the model gets it.
pub(super) enum Block {
    Bytes { bytes: Vec<u8>, mime_type: String },
    Text(String),
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Media {
    data: String,
    #[serde(rename = "mimeType")]
    mime_type: String,
}

#[derive(Deserialize)]
struct Embedded<'a> {
    #[serde(borrow)]
    resource: &'a RawValue,
}

#[derive(Deserialize)]
struct Resource {
    blob: Option<String>,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    name: String,
    uri: String,
}

/// Decodes a result; the error text says why it is malformed.
///
/// Texts, embedded text resources and resource links are text, in order, and so is `structuredContent`, unless a text block is the
/// same JSON. Images, audio and embedded binary resources are kept as bytes. `output` is the schema of structured results.
pub(super) fn decode(result: &RawValue, output: Option<&Value>) -> Result<CallResult, String> {
    decode_with(result, |members| complete(members, output))
}

/// Decodes a result that may ask for input, or end its request as `complete` reads it.
pub(super) fn decode_with(
    result: &RawValue,
    complete: impl FnOnce(&ResultMembers<'_>) -> Result<ToolResponse, String>,
) -> Result<CallResult, String> {
    let members = ResultMembers::of(result)?;
    let kind = members.get("resultType");
    let kind = kind.and_then(|kind| serde_json::from_str::<String>(kind.get()).ok());
    if kind.as_deref() != Some(INPUT_REQUIRED) {
        return complete(&members).map(CallResult::Complete);
    }
    Ok(match serde_json::from_str(result.get()) {
        Ok(required) => CallResult::InputRequired(required),
        Err(error) => {
            let failed = ToolResponse::failed(INVALID_RESULT, error.to_string());
            CallResult::Complete(failed)
        }
    })
}

impl<'a> ResultMembers<'a> {
    fn of(result: &'a RawValue) -> Result<Self, String> {
        let members = serde_json::from_str(result.get());
        let Members(members) = members.map_err(|_| "the result is not an object".to_owned())?;
        Ok(Self {
            members,
            whole: result,
        })
    }

    /// The text of the whole result.
    pub(super) fn text(&self) -> String {
        self.whole.get().to_owned()
    }

    /// The items of a member; `None` without that member.
    pub(super) fn items(&self, name: &str) -> Result<Option<Vec<&'a RawValue>>, String> {
        let items = self.get(name).map(|list| serde_json::from_str(list.get()));
        items
            .transpose()
            .map_err(|_| format!("its {name} is not an array"))
    }

    fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.members.iter().rfind(|(key, _)| key == name);
        found.map(|(_, value)| *value)
    }
}

fn complete(result: &ResultMembers<'_>, output: Option<&Value>) -> Result<ToolResponse, String> {
    let content = result.items("content")?;
    let structured = result.get("structuredContent");
    let structured = structured.filter(|structured| structured.get() != "null");
    let mut response = ToolResponse::default();
    if content.is_none() && structured.is_none() {
        response.push_text(result.text());
    }
    let blocks = content.unwrap_or_default().into_iter().map(Block::of);
    let blocks: Vec<Block> = blocks.collect();
    let bytes = blocks
        .iter()
        .filter(|block| matches!(block, Block::Bytes { .. }));
    if bytes.count() > RESOURCES {
        let message = format!("more than {RESOURCES} content blocks that are not text");
        return Ok(ToolResponse::failed(INVALID_RESULT, message));
    }
    let structured_text = structured.filter(|structured| {
        let value = value_of(structured.get());
        let is_same = |block: &Block| match block {
            Block::Bytes { .. } => false,
            Block::Text(text) => value.is_some() && value_of(text) == value,
        };
        !blocks.iter().any(is_same)
    });
    for block in blocks {
        block.push_to(&mut response);
    }
    if let Some(structured) = structured_text {
        response.push_text(structured.get().to_owned());
    }
    match result.get("isError").map_or("null", RawValue::get) {
        "true" => response.mark_failed(),
        "false" | "null" => {
            if let Some(schema) = output
                && let Err(fault) = check_structured(schema, structured)
            {
                response.push_text(fault);
                response.mark_failed_as(OUTPUT_SCHEMA.to_owned());
            }
        }
        other => {
            let other = char_prefix(other, QUOTE_BYTES);
            response.push_text(format!(
                "isError of the result is {other}, which is neither true nor false"
            ));
            response.mark_failed_as(INVALID_RESULT.to_owned());
        }
    }
    Ok(response)
}

/// Checks the structured result of a tool that states a schema for it: such a tool has one (MCP, tools, output schema).
fn check_structured(schema: &Value, structured: Option<&RawValue>) -> Result<(), String> {
    let Some(structured) = structured else {
        return Err(
            "the tool has an outputSchema, and its result has no structuredContent".to_owned(),
        );
    };
    check_output(schema, structured.get())
        .map_err(|rule| format!("structuredContent breaks the outputSchema of the tool: {rule}"))
}

/// The value of a JSON text.
fn value_of(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

impl Block {
    /// Reads a content block. One that does not fit its type becomes its JSON.
    pub(super) fn of(block: &RawValue) -> Self {
        Self::typed(block).unwrap_or_else(|| Self::Text(block.get().to_owned()))
    }

    /// A resource: its text or its bytes, else its own JSON.
    pub(super) fn of_resource(resource: &RawValue) -> Self {
        Self::typed_resource(resource).unwrap_or_else(|| Self::Text(resource.get().to_owned()))
    }

    fn typed(block: &RawValue) -> Option<Self> {
        let Kind { kind } = parse(block)?;
        match kind.as_str() {
            "text" => parse(block).map(|Text { text }| Self::Text(text)),
            "image" | "audio" => {
                let Media { data, mime_type } = parse(block)?;
                let bytes = STANDARD.decode(data).ok()?;
                Some(Self::Bytes { bytes, mime_type })
            }
            "resource" => {
                let Embedded { resource } = parse(block)?;
                Self::typed_resource(resource)
            }
            "resource_link" => {
                let link: Link = parse(block)?;
                let mut text = format!("resource link {}, name {}", link.uri, link.name);
                if let Some(mime_type) = link.mime_type {
                    // Writing to a String cannot fail.
                    let _ = write!(text, ", type {mime_type}");
                }
                Some(Self::Text(text))
            }
            _ => None,
        }
    }

    fn typed_resource(resource: &RawValue) -> Option<Self> {
        let resource: Resource = parse(resource)?;
        match (resource.text, resource.blob) {
            (Some(text), None) => Some(Self::Text(text)),
            (None, Some(blob)) => Some(Self::Bytes {
                bytes: STANDARD.decode(blob).ok()?,
                mime_type: resource.mime_type.unwrap_or_default(),
            }),
            _ => None,
        }
    }

    /// Adds the block to a response.
    pub(super) fn push_to(self, response: &mut ToolResponse) {
        match self {
            Self::Bytes { bytes, mime_type } => response.push_resource(bytes, &mime_type),
            Self::Text(text) => response.push_text(text),
        }
    }
}

fn parse<'a, T: Deserialize<'a>>(block: &'a RawValue) -> Option<T> {
    serde_json::from_str(block.get()).ok()
}
