//! The arguments of one tool: parameters and body of an operation as properties of one schema. Does not know operations.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::body::{Body, BodyForm, MemberEncoding, is_json};
use super::document::SpecDocument;
use super::fault::OpenapiFault;
use super::parameter::{Location, Parameter, Style};
use super::schema::SchemaWriter;
use crate::contract::validators::Validators;
use crate::message::char_prefix;

/// Characters of a description that a tool keeps.
pub(super) const DESCRIPTION_BYTES: usize = 2_000;
/// The longest name of an argument: what the strictest provider takes.
const ARGUMENT_BYTES: usize = 64;
/// Steps to compile any schema.
const STEPS_TO_COMPILE: u64 = 64;
/// Steps to compile a schema, for each step that it takes to write it.
const COMPILE_FACTOR: usize = 4;
/// Headers that are no parameters (OpenAPI 3.1 §4.8.12), and those that belong to the connection.
const NO_PARAMETERS: [&str; 16] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Gathers the arguments of one tool.
pub(super) struct Arguments<'d> {
    document: &'d SpecDocument<'d>,
    names: BTreeSet<String>,
    /// Names of headers that the author sends, in lower case.
    own_headers: &'d [String],
    properties: Map<String, Value>,
    required: Vec<Value>,
    writer: SchemaWriter<'d>,
}

impl<'d> Arguments<'d> {
    pub(super) fn new(document: &'d SpecDocument<'d>, own_headers: &'d [String]) -> Self {
        Self {
            document,
            names: BTreeSet::new(),
            own_headers,
            properties: Map::new(),
            required: Vec::new(),
            writer: SchemaWriter::new(document),
        }
    }

    /// Takes a parameter, unless it is none of the model's: the path does not have it, or the author sends it.
    pub(super) fn parameter(
        &mut self,
        stated: &'d Value,
        in_path: &[&str],
    ) -> Result<Option<Parameter>, OpenapiFault> {
        let text = |key: &str| stated.get(key).and_then(Value::as_str);
        let flag = |key: &str| stated.get(key).and_then(Value::as_bool);
        let location = text("in").and_then(Location::named);
        let Some((name, location)) = text("name").zip(location) else {
            return Ok(None);
        };
        let is_taken = match location {
            Location::Path => in_path.contains(&name),
            Location::Query => true,
            Location::Header => !self.is_reserved(name),
            Location::Cookie => !self.own_headers.iter().any(|own| own == "cookie"),
        };
        if !is_taken {
            return Ok(None);
        }
        self.keep(name)?;
        if location == Location::Header && !is_token(name) {
            let reason = format!("no header has the name {name:?}");
            return Err(OpenapiFault::Operation { reason });
        }
        let content = stated.get("content").and_then(Value::as_object);
        let content = content.and_then(|content| content.iter().next());
        let schema = content.map_or(stated, |(_, content)| content).get("schema");
        let mut schema = match schema {
            Some(schema) => self.writer.write(schema)?,
            None => json!({}),
        };
        let as_text = content.map(|(media_type, _)| media_type.as_str());
        let as_text = as_text.filter(|media_type| !is_json(media_type));
        if let Some(media_type) = as_text {
            written_by_the_model(&mut schema, media_type);
        }
        if let (Some(text), Some(members)) = (text("description"), schema.as_object_mut()) {
            let text = char_prefix(text, DESCRIPTION_BYTES);
            members.insert("description".to_owned(), json!(text));
        }
        let stated = text("style").and_then(|word| Style::named(word, location));
        let style = match (content, as_text) {
            (Some(_), None) => Style::Json,
            (Some(_), Some(_)) => Style::default_in(location),
            (None, _) => stated.unwrap_or_else(|| Style::default_in(location)),
        };
        let required = flag("required") == Some(true) || location == Location::Path;
        let argument = self.add(name, location.as_str(), schema, required)?;
        Ok(Some(Parameter {
            allow_empty: flag("allowEmptyValue") == Some(true),
            allow_reserved: flag("allowReserved") == Some(true) && location == Location::Query,
            argument,
            explode: flag("explode").unwrap_or(style == Style::Form),
            location,
            name: name.to_owned(),
            style,
        }))
    }

    /// Counts a text that the request keeps.
    fn keep(&self, text: &str) -> Result<(), OpenapiFault> {
        self.document.budget.spend_bytes(text.len())?;
        self.document.budget.keep(text.len())
    }

    fn is_reserved(&self, header: &str) -> bool {
        let lower = header.to_ascii_lowercase();
        NO_PARAMETERS.contains(&lower.as_str()) || self.own_headers.contains(&lower)
    }

    /// A parameter of the path that the description does not state.
    pub(super) fn forgotten(&mut self, name: &str) -> Result<Parameter, OpenapiFault> {
        let argument = self.add(name, "path", json!({"type": "string"}), true)?;
        Ok(Parameter {
            allow_empty: false,
            allow_reserved: false,
            argument,
            explode: false,
            location: Location::Path,
            name: name.to_owned(),
            style: Style::Simple,
        })
    }

    /// Takes a body, in the type that a model writes best.
    pub(super) fn body(&mut self, stated: &'d Value) -> Result<Option<Body>, OpenapiFault> {
        let content = stated.get("content").and_then(Value::as_object);
        let Some((media_type, content)) = content.and_then(preferred) else {
            return Ok(None);
        };
        self.keep(media_type)?;
        if media_type.chars().any(char::is_control) {
            let reason = "the type of its body holds a control character".to_owned();
            return Err(OpenapiFault::Operation { reason });
        }
        let mut form = Body::form_of(media_type);
        let mut schema = match content.get("schema") {
            Some(schema) => self.writer.write(schema)?,
            None => json!({}),
        };
        if matches!(form, BodyForm::Form | BodyForm::Parts) {
            match schema.get("type") {
                None => {
                    if let Some(members) = schema.as_object_mut() {
                        members.insert("type".to_owned(), json!("object"));
                    }
                }
                Some(kind) if has_object(kind) => {}
                // A form without members is none: the model writes what is sent.
                Some(_) => form = BodyForm::Text,
            }
        }
        if form == BodyForm::Text {
            schema = json!({"type": "string"});
        }
        let text = stated.get("description").and_then(Value::as_str);
        let text = text.map_or_else(|| format!("The body, sent as {media_type}."), str::to_owned);
        if let Some(members) = schema.as_object_mut() {
            let text = char_prefix(&text, DESCRIPTION_BYTES);
            members.insert("description".to_owned(), json!(text));
        }
        let is_required = stated.get("required") == Some(&json!(true));
        let encoding = encoding_of(self.document, content)?;
        let members = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, member) in members.into_iter().flatten() {
            let of_form = encoding.get(name).filter(|_| form != BodyForm::Json);
            if let Some(media_type) = of_form.and_then(MemberEncoding::text_type) {
                match member.get_mut("items") {
                    Some(items) => written_by_the_model(items, media_type),
                    None => written_by_the_model(member, media_type),
                }
            }
        }
        let argument = self.add("body", "request", schema, is_required)?;
        Ok(Some(Body {
            argument,
            encoding,
            form,
            media_type: media_type.to_owned(),
        }))
    }

    /// Adds an argument under a name that every provider takes and no other argument has.
    fn add(
        &mut self,
        name: &str,
        location: &str,
        schema: Value,
        required: bool,
    ) -> Result<String, OpenapiFault> {
        let word = |c: char| {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                c
            } else {
                '_'
            }
        };
        let plain: String = name.chars().map(word).take(ARGUMENT_BYTES).collect();
        let plain = if plain.is_empty() {
            "argument".to_owned()
        } else {
            plain
        };
        let mut argument = plain.clone();
        let mut number = 1;
        while self.names.contains(&argument) {
            self.document.budget.spend(1)?;
            let tail = if number == 1 {
                format!("_{location}")
            } else {
                format!("_{location}_{number}")
            };
            let kept = char_prefix(&plain, ARGUMENT_BYTES.saturating_sub(tail.len()));
            argument = format!("{kept}{tail}");
            number += 1;
        }
        self.names.insert(argument.clone());
        self.properties.insert(argument.clone(), schema);
        if required {
            self.required.push(json!(argument));
        }
        Ok(argument)
    }

    /// The schema of all arguments. What no validator reads is left out of it: a pattern first, then the property's whole schema.
    pub(super) fn schema(self) -> Result<Value, OpenapiFault> {
        let budget = &self.document.budget;
        // Compiling a schema takes more steps than writing it.
        let has_fault = |schema: &Value| {
            budget.spend(STEPS_TO_COMPILE)?;
            budget.spend_bytes(schema.to_string().len().saturating_mul(COMPILE_FACTOR))?;
            Ok::<_, OpenapiFault>(Validators::fault_of(schema).is_some())
        };
        let made = |properties: &Map<String, Value>| {
            json!({
                "type": "object",
                "properties": properties,
                "required": self.required,
                "additionalProperties": false,
            })
        };
        let mut properties = self.properties;
        let mut whole = made(&properties);
        if has_fault(&whole)? {
            for (name, property) in &mut properties {
                let alone =
                    |property: &Value| json!({"type": "object", "properties": {name: property}});
                if !has_fault(&alone(property))? {
                    continue;
                }
                without_patterns(property);
                if has_fault(&alone(property))? {
                    let text = property.get("description").cloned();
                    *property = json!({});
                    if let (Some(text), Some(members)) = (text, property.as_object_mut()) {
                        members.insert("description".to_owned(), text);
                    }
                }
            }
            whole = made(&properties);
            if has_fault(&whole)? {
                for property in properties.values_mut() {
                    *property = json!({});
                }
                whole = made(&properties);
            }
        }
        budget.keep(whole.to_string().len())?;
        Ok(whole)
    }
}

/// Turns a schema into a text if monolith cannot write its media type: the model writes the text. A schema of a single value
/// stays as it is.
fn written_by_the_model(schema: &mut Value, media_type: &str) {
    let is_alone = |value: &Value| !value.is_object() && !value.is_array();
    let is_type_alone = |kind: &Value| kind != "object" && kind != "array";
    let is_text = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().all(is_type_alone),
        Some(kind) => is_type_alone(kind),
        None => {
            let values = schema.get("enum").and_then(Value::as_array);
            values.is_some_and(|values| values.iter().all(is_alone))
        }
    };
    if !is_text {
        let text = schema.get("description").cloned();
        let text = text.unwrap_or_else(|| json!(format!("Written as {media_type}.")));
        *schema = json!({"type": "string", "description": text});
    }
}

/// True if a schema type may be an object.
fn has_object(kind: &Value) -> bool {
    match kind {
        Value::Array(kinds) => kinds.iter().any(has_object),
        kind => kind == "object",
    }
}

/// A name that a header can have (RFC 9110 §5.6.2).
fn is_token(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_word)
}

fn without_patterns(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("pattern").is_some_and(Value::is_string) {
                members.remove("pattern");
            }
            members.values_mut().for_each(without_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(without_patterns),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The type of a body that a model writes best, of those that there are.
fn preferred(content: &Map<String, Value>) -> Option<(&str, &Value)> {
    let rank = |media_type: &str| match Body::form_of(media_type) {
        BodyForm::Json if !media_type.contains('*') => 0,
        BodyForm::Json => 1,
        BodyForm::Form => 2,
        BodyForm::Parts => 3,
        BodyForm::Text if media_type.starts_with("text/") => 4,
        BodyForm::Text => 5,
    };
    let mut all: Vec<(&str, &Value)> = content.iter().map(|(k, v)| (k.as_str(), v)).collect();
    all.sort_by_key(|(media_type, _)| (rank(media_type), *media_type));
    all.into_iter().next()
}

/// Returns the encoding of each form member, and marks the members that are files.
fn encoding_of(
    document: &SpecDocument<'_>,
    content: &Value,
) -> Result<BTreeMap<String, MemberEncoding>, OpenapiFault> {
    let mut all: BTreeMap<String, MemberEncoding> = BTreeMap::new();
    let schema = content
        .get("schema")
        .and_then(|schema| document.resolved(schema).ok());
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    for (name, property) in properties.into_iter().flatten() {
        document.budget.spend_bytes(name.len())?;
        let Ok(mut property) = document.resolved(property) else {
            continue;
        };
        if let Some(items) = property
            .get("items")
            .and_then(|items| document.resolved(items).ok())
        {
            property = items;
        }
        let is_binary = property.get("format") == Some(&json!("binary"))
            || property.get("contentMediaType").is_some();
        if is_binary {
            all.entry(name.clone()).or_default().binary = true;
        }
    }
    let stated = content.get("encoding").and_then(Value::as_object);
    for (name, encoding) in stated.into_iter().flatten() {
        let text = |key: &str| encoding.get(key).and_then(Value::as_str);
        let bytes = name.len() + text("contentType").map_or(0, str::len);
        document.budget.spend_bytes(bytes)?;
        document.budget.keep(bytes)?;
        let flag = |key: &str| encoding.get(key).and_then(Value::as_bool);
        let entry = all.entry(name.clone()).or_default();
        entry.allow_reserved = flag("allowReserved") == Some(true);
        entry.content_type = text("contentType").map(str::to_owned);
        entry.explode = flag("explode");
        entry.style = text("style").and_then(|word| Style::named(word, Location::Query));
    }
    Ok(all)
}
