//! Reads the result of a call. Does not cut it to a budget.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::elicitation::InputRequired;
use crate::tools::envelope::ToolResponse;
use monolith_core::message::char_prefix;

/// Most blocks of one result that are not text.
const RESOURCES: usize = 1_000;
/// The type of a result that does not end its call.
const INPUT_REQUIRED: &str = "input_required";
/// Media type of a resource link that is kept.
const LINK_MIME_TYPE: &str = "application/json";

/// The answer to `tools/call`.
#[derive(Debug)]
pub(super) enum CallResult {
    /// The call is over.
    Complete(ToolResponse),
    /// The call continues once the server has the input that it asks for.
    InputRequired(InputRequired),
}

#[derive(Deserialize)]
struct Type {
    #[serde(default, rename = "resultType")]
    kind: Option<String>,
}

/// A result that ends the call (MCP schema, `CallToolResult`).
#[derive(Deserialize)]
struct Complete<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
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
struct Embedded {
    resource: Resource,
}

#[derive(Deserialize)]
pub(super) struct Resource {
    blob: Option<String>,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "uri")]
    _uri: String,
}

/// Decodes a result, strictly in what MCP requires and tolerant of what it adds; the error text names the fault.
///
/// Texts and embedded text resources are text, in order. Images, audio and embedded binary resources are kept as bytes, a
/// resource link as its own JSON. `structuredContent` is the text where the content has none.
pub(super) fn decode(result: &RawValue) -> Result<CallResult, String> {
    decode_with(result, complete)
}

/// Decodes a result that may ask for input, or end its request as `complete` reads it.
pub(super) fn decode_with(
    result: &RawValue,
    complete: impl FnOnce(&RawValue) -> Result<ToolResponse, String>,
) -> Result<CallResult, String> {
    let kind = serde_json::from_str::<Type>(result.get());
    // Any other mistake is named below.
    if kind.is_ok_and(|kind| kind.kind.as_deref() == Some(INPUT_REQUIRED)) {
        let required = serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
        return Ok(CallResult::InputRequired(required));
    }
    complete(result).map(CallResult::Complete)
}

fn complete(result: &RawValue) -> Result<ToolResponse, String> {
    let result: Complete<'_> =
        serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
    let mut response = ToolResponse::default();
    let (mut texts, mut resources) = (0_usize, 0_usize);
    for (index, block) in result.content.iter().enumerate() {
        let text = take_block(&mut response, block)
            .map_err(|error| format!("content block {index}: {error}"))?;
        if text {
            texts += 1;
        } else {
            resources += 1;
        }
        if resources > RESOURCES {
            return Err(format!(
                "more than {RESOURCES} content blocks that are not text"
            ));
        }
    }
    if let (0, Some(structured)) = (texts, result.structured) {
        response.push_text(structured.get().to_owned());
    }
    if result.is_error == Some(true) {
        response.mark_failed();
    }
    Ok(response)
}

/// Adds one block; true where it is text.
pub(super) fn take_block(response: &mut ToolResponse, block: &RawValue) -> Result<bool, String> {
    let kind: Kind = parse(block)?;
    match kind.kind.as_str() {
        "text" => {
            let Text { text } = parse(block)?;
            response.push_text(text);
            return Ok(true);
        }
        "image" | "audio" => {
            let Media { data, mime_type } = parse(block)?;
            response.push_resource(unbase64(&data)?, &mime_type);
        }
        "resource" => {
            let Embedded { resource } = parse(block)?;
            return take_resource(response, resource);
        }
        "resource_link" => {
            let _: Link = parse(block)?;
            response.push_resource(block.get().as_bytes().to_vec(), LINK_MIME_TYPE);
        }
        other => {
            let other = char_prefix(other, 80);
            return Err(format!("unknown type {other:?}"));
        }
    }
    Ok(false)
}

/// Adds a resource; true where it is text.
pub(super) fn take_resource(
    response: &mut ToolResponse,
    resource: Resource,
) -> Result<bool, String> {
    match (resource.text, resource.blob) {
        (Some(text), None) => {
            response.push_text(text);
            Ok(true)
        }
        (None, Some(blob)) => {
            let mime_type = resource.mime_type.unwrap_or_default();
            response.push_resource(unbase64(&blob)?, &mime_type);
            Ok(false)
        }
        _ => Err("a resource has either text or blob".to_owned()),
    }
}

fn parse<'a, T: Deserialize<'a>>(block: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(block.get()).map_err(|error| error.to_string())
}

fn unbase64(data: &str) -> Result<Vec<u8>, String> {
    STANDARD
        .decode(data)
        .map_err(|error| format!("its data is not base64: {error}"))
}
