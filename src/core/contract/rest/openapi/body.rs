//! Bodies of requests: JSON, forms, parts, text. Does not know operations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use super::parameter::{Location, Parameter, Style};
use crate::contract::rest::request::{RequestBody, RequestFault};
use crate::contract::rest::template::text_of;
use crate::message::Digest;

/// The encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BodyForm {
    Form,
    Json,
    Parts,
    Text,
}

/// The body of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Body {
    /// The argument that is its value.
    pub(super) argument: String,
    /// Encodings of single form members.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) encoding: BTreeMap<String, MemberEncoding>,
    pub(super) form: BodyForm,
    pub(super) media_type: String,
}

/// The encoding of a form member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct MemberEncoding {
    pub(super) allow_reserved: bool,
    /// True if it is a file.
    pub(super) binary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) explode: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) style: Option<Style>,
}

impl MemberEncoding {
    /// The types that a member may be written in, as far as one of them can be the type of a part.
    fn types(&self) -> impl Iterator<Item = &str> {
        let stated = self.content_type.as_deref().unwrap_or_default();
        stated
            .split(',')
            .map(str::trim)
            .filter(|kind| is_media_type(kind))
    }

    /// True if OpenAPI defines its serialization for every type.
    const fn has_style(&self) -> bool {
        self.style.is_some() || self.explode.is_some() || self.allow_reserved
    }

    /// The type that a member is written in which is no JSON, where it has no other one.
    pub(super) fn text_type(&self) -> Option<&str> {
        let has_json = self.types().any(is_json);
        self.types()
            .next()
            .filter(|_| !has_json && !self.has_style())
    }
}

impl Body {
    /// Returns the form of a body with that media type.
    pub(super) fn form_of(media_type: &str) -> BodyForm {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        match essence.as_str() {
            "application/x-www-form-urlencoded" => BodyForm::Form,
            "multipart/form-data" => BodyForm::Parts,
            "application/json" | "text/json" | "*/*" | "application/*" => BodyForm::Json,
            other if other.ends_with("+json") => BodyForm::Json,
            _ => BodyForm::Text,
        }
    }

    /// The body with that value.
    pub(super) fn written(&self, value: &Value) -> Result<RequestBody, RequestFault> {
        let none = Map::new();
        let members = value.as_object().unwrap_or(&none);
        if matches!(self.form, BodyForm::Form | BodyForm::Parts) {
            self.check_members(members)?;
        }
        let (bytes, media_type) = match self.form {
            BodyForm::Json => (value.to_string(), self.sent_type("application/json")),
            BodyForm::Text => (text_of(value), self.sent_type("text/plain")),
            BodyForm::Form => (self.form(members), self.media_type.clone()),
            BodyForm::Parts => {
                let boundary = boundary_of(value);
                let media_type = format!("multipart/form-data; boundary={boundary}");
                (self.parts(members, &boundary), media_type)
            }
        };
        Ok(RequestBody {
            bytes: bytes.into_bytes(),
            media_type,
        })
    }

    /// Refuses nested values in a member whose media type is not JSON: pass a text instead.
    fn check_members(&self, members: &Map<String, Value>) -> Result<(), RequestFault> {
        let is_made = |value: &Value| match value {
            Value::Array(items) => items.iter().any(|item| item.is_array() || item.is_object()),
            value => value.is_object(),
        };
        let mut made = members.iter().filter(|(_, value)| is_made(value));
        let unwritten = made.find(|(name, _)| {
            let encoding = self.encoding.get(*name);
            encoding.and_then(MemberEncoding::text_type).is_some()
        });
        match unwritten {
            None => Ok(()),
            Some((name, _)) => Err(RequestFault::Value {
                name: format!("{}.{name}", self.argument),
                rule: "is to be written in a type that is no JSON: give it as a text",
            }),
        }
    }

    /// A range of types stands for one of them.
    fn sent_type(&self, of_range: &str) -> String {
        if self.media_type.contains('*') {
            of_range.to_owned()
        } else {
            self.media_type.clone()
        }
    }

    fn form(&self, members: &Map<String, Value>) -> String {
        let mut pairs = Vec::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let none = MemberEncoding::default();
            let encoding = self.encoding.get(name).unwrap_or(&none);
            let has_style = encoding.has_style();
            let style = match encoding.style {
                None if !has_style && is_nested(value) => Style::Json,
                style => style.unwrap_or(Style::Form),
            };
            let parameter = Parameter {
                allow_empty: true,
                allow_reserved: encoding.allow_reserved,
                argument: name.clone(),
                explode: encoding.explode.unwrap_or(style == Style::Form),
                location: Location::Query,
                name: name.clone(),
                style,
            };
            pairs.extend(parameter.in_query(value));
        }
        pairs.join("&")
    }

    fn parts(&self, members: &Map<String, Value>, boundary: &str) -> String {
        let mut out = String::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let encoding = self.encoding.get(name);
            let one = std::slice::from_ref(value);
            let items = match value {
                Value::Array(items) if !items.iter().any(Value::is_array) => items.as_slice(),
                _ => one,
            };
            for item in items {
                let binary = encoding.is_some_and(|encoding| encoding.binary);
                let default_type = match item {
                    Value::Object(_) | Value::Array(_) => "application/json",
                    _ if binary => "application/octet-stream",
                    _ => "text/plain; charset=utf-8",
                };
                // Where several types may be, the first is taken that can be written.
                let is_made = item.is_array() || item.is_object();
                let mut types = encoding.into_iter().flat_map(MemberEncoding::types);
                let media_type = types.find(|kind| !is_made || is_json(kind));
                let media_type = media_type.unwrap_or(default_type);
                let name = quoted(name);
                let file = if binary {
                    format!("; filename=\"{name}\"")
                } else {
                    String::new()
                };
                let content = match item {
                    Value::String(text) => text.clone(),
                    item => item.to_string(),
                };
                // Writing to a String cannot fail.
                let _ = write!(
                    out,
                    "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\nContent-Type: {media_type}\r\n\r\n{content}\r\n"
                );
            }
        }
        let _ = write!(out, "--{boundary}--\r\n");
        out
    }
}

/// True if a form writes a value as JSON when no style is given. A form writes a list item by item, so among lists only lists
/// of lists count.
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(Value::is_array),
        _ => false,
    }
}

/// A type without wildcards and without anything that would end its line.
fn is_media_type(text: &str) -> bool {
    text.contains('/') && !text.contains('*') && !text.chars().any(char::is_control)
}

/// True if that media type is JSON.
pub(in crate::contract::rest) fn is_json(media_type: &str) -> bool {
    Body::form_of(media_type) == BodyForm::Json
}

/// A line that no part holds: it is made of all of them.
fn boundary_of(value: &Value) -> String {
    let digest = Digest::of(value.to_string().as_bytes());
    format!("monolith-{}", digest.short(32))
}

/// The name of a part: a quote or a line break would end it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
