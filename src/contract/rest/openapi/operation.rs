//! One operation of a description as a tool. Does not know which operations are taken.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::body::{Body, BodyForm, MemberEncoding};
use super::document::SpecDocument;
use super::fault::OpenapiFault;
use super::parameter::{Location, Parameter, Style};
use super::plan::{HttpOperation, names_in};
use super::schema::SchemaWriter;
use crate::contract::rest::HttpMethod;
use crate::contract::validators::Validators;
use crate::message::char_prefix;

/// Characters of a description that a tool keeps.
const DESCRIPTION_BYTES: usize = 2_000;
/// The longest name of an argument: what the strictest provider takes.
const ARGUMENT_BYTES: usize = 64;
/// Headers that are no parameters (OpenAPI 3.1 §4.8.12), and those that belong to the connection.
const NO_PARAMETERS: [&str; 12] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Where an operation stands in its description.
pub(super) struct Found<'d> {
    /// The item of its path.
    pub(super) item: &'d Value,
    pub(super) method: HttpMethod,
    /// What is said of it.
    pub(super) operation: &'d Value,
    pub(super) path: &'d str,
}

/// An operation as a tool, before it has a name.
pub(super) struct Described {
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) plan: HttpOperation,
}

/// What the address of a service is made of.
pub(super) struct Service {
    pub(super) origin: String,
    /// Without a slash at its end.
    pub(super) path: String,
}

/// Gathers the arguments of one tool.
struct Arguments<'d> {
    names: Vec<String>,
    properties: Map<String, Value>,
    required: Vec<Value>,
    writer: SchemaWriter<'d>,
}

impl Found<'_> {
    fn stated(&self, key: &str) -> Option<&str> {
        self.operation
            .get(key)?
            .as_str()
            .filter(|text| !text.trim().is_empty())
    }

    fn description(&self) -> String {
        let parts = [self.stated("summary"), self.stated("description")];
        let parts: Vec<&str> = parts.into_iter().flatten().map(str::trim).collect();
        if parts.is_empty() {
            return format!("{} {}", self.method.as_str(), self.path);
        }
        char_prefix(&parts.join("\n\n"), DESCRIPTION_BYTES).to_owned()
    }
}

/// An operation as a tool of that service. Headers that the author sends are no arguments.
pub(super) fn described<'d>(
    document: &'d SpecDocument,
    found: &Found<'d>,
    service: Service,
    own_headers: &[String],
) -> Result<Described, OpenapiFault> {
    let mut arguments = Arguments {
        names: Vec::new(),
        properties: Map::new(),
        required: Vec::new(),
        writer: SchemaWriter::new(document),
    };
    let mut parameters = Vec::new();
    for stated in stated_parameters(document, found)? {
        parameters.extend(arguments.parameter(stated, own_headers)?);
    }
    let known = |name: &&str| {
        let mut known = parameters.iter();
        known.any(|p: &Parameter| p.location == Location::Path && p.name == **name)
    };
    // A path may name what the description forgot.
    let missing: Vec<&str> = names_in(found.path)
        .into_iter()
        .filter(|name| !known(name))
        .collect();
    for name in missing {
        let forgotten = json!({"name": name, "in": "path", "required": true});
        parameters.extend(arguments.forgotten(name, &forgotten));
    }
    let body = match found.operation.get("requestBody") {
        Some(body) => arguments.body(document, document.resolved(body)?)?,
        None => None,
    };
    let plan = HttpOperation {
        body,
        method: found.method,
        origin: service.origin,
        parameters,
        path: format!("{}{}", service.path, found.path),
    };
    Ok(Described {
        description: found.description(),
        input_schema: arguments.schema(),
        plan,
    })
}

/// The parameters of an operation: its own, and those of its path that it does not state again; by place and name.
fn stated_parameters<'d>(
    document: &'d SpecDocument,
    found: &Found<'d>,
) -> Result<Vec<&'d Value>, OpenapiFault> {
    let mut stated: BTreeMap<(Location, &str), &Value> = BTreeMap::new();
    for level in [found.item, found.operation] {
        let level = level.get("parameters").and_then(Value::as_array);
        for parameter in level.into_iter().flatten() {
            let parameter = document.resolved(parameter)?;
            let location = parameter.get("in").and_then(Value::as_str);
            let location = location.and_then(Location::named);
            let name = parameter.get("name").and_then(Value::as_str);
            if let Some(key) = location.zip(name) {
                stated.insert(key, parameter);
            }
        }
    }
    Ok(stated.into_values().collect())
}

impl<'d> Arguments<'d> {
    fn parameter(
        &mut self,
        stated: &'d Value,
        own_headers: &[String],
    ) -> Result<Option<Parameter>, OpenapiFault> {
        let text = |key: &str| stated.get(key).and_then(Value::as_str);
        let flag = |key: &str| stated.get(key).and_then(Value::as_bool);
        let location = text("in").and_then(Location::named);
        let Some((name, location)) = text("name").zip(location) else {
            return Ok(None);
        };
        let lower = name.to_ascii_lowercase();
        let is_reserved = location == Location::Header
            && (NO_PARAMETERS.contains(&lower.as_str()) || own_headers.contains(&lower));
        if is_reserved {
            return Ok(None);
        }
        let content = stated.get("content").and_then(Value::as_object);
        let content = content.and_then(|content| content.values().next());
        let schema = content.unwrap_or(stated).get("schema");
        let mut schema = match schema {
            Some(schema) => self.writer.write(schema)?,
            None => json!({}),
        };
        if let (Some(text), Some(members)) = (text("description"), schema.as_object_mut()) {
            let text = char_prefix(text, DESCRIPTION_BYTES);
            members.insert("description".to_owned(), json!(text));
        }
        let style = text("style").and_then(|word| Style::named(word, location));
        let style = style.unwrap_or_else(|| Style::default_in(location));
        let required = flag("required") == Some(true) || location == Location::Path;
        let argument = self.add(name, location.as_str(), schema, required);
        Ok(Some(Parameter {
            allow_empty: flag("allowEmptyValue") == Some(true),
            allow_reserved: flag("allowReserved") == Some(true) && location == Location::Query,
            argument,
            explode: flag("explode").unwrap_or(style == Style::Form),
            json: content.is_some(),
            location,
            name: name.to_owned(),
            style,
        }))
    }

    /// A parameter of the path that the description does not state.
    fn forgotten(&mut self, name: &str, _: &Value) -> Option<Parameter> {
        let argument = self.add(name, "path", json!({"type": "string"}), true);
        Some(Parameter {
            allow_empty: false,
            allow_reserved: false,
            argument,
            explode: false,
            json: false,
            location: Location::Path,
            name: name.to_owned(),
            style: Style::Simple,
        })
    }

    fn body(
        &mut self,
        document: &'d SpecDocument,
        stated: &'d Value,
    ) -> Result<Option<Body>, OpenapiFault> {
        let content = stated.get("content").and_then(Value::as_object);
        let Some((media_type, content)) = content.and_then(preferred) else {
            return Ok(None);
        };
        if media_type.chars().any(char::is_control) {
            let reason = "the type of its body holds a control character".to_owned();
            return Err(OpenapiFault::Operation { reason });
        }
        let form = Body::form_of(media_type);
        let mut schema = match content.get("schema") {
            Some(schema) => self.writer.write(schema)?,
            None if form == BodyForm::Text => json!({"type": "string"}),
            None => json!({}),
        };
        if form == BodyForm::Text {
            schema = json!({"type": "string"});
        }
        if matches!(form, BodyForm::Form | BodyForm::Parts) && schema.get("type").is_none() {
            if let Some(members) = schema.as_object_mut() {
                members.insert("type".to_owned(), json!("object"));
            }
        }
        let text = stated.get("description").and_then(Value::as_str);
        let text = text.map_or_else(|| format!("The body, sent as {media_type}."), str::to_owned);
        if let Some(members) = schema.as_object_mut() {
            let text = char_prefix(&text, DESCRIPTION_BYTES);
            members.insert("description".to_owned(), json!(text));
        }
        let is_required = stated.get("required") == Some(&json!(true));
        let encoding = encoding_of(document, content);
        let argument = self.add("body", "request", schema, is_required);
        Ok(Some(Body {
            argument,
            encoding,
            form,
            media_type: media_type.to_owned(),
        }))
    }

    /// Adds an argument under a name that every provider takes and no other argument has.
    fn add(&mut self, name: &str, location: &str, schema: Value, required: bool) -> String {
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
            let tail = if number == 1 {
                format!("_{location}")
            } else {
                format!("_{location}_{number}")
            };
            let kept = char_prefix(&plain, ARGUMENT_BYTES.saturating_sub(tail.len()));
            argument = format!("{kept}{tail}");
            number += 1;
        }
        self.names.push(argument.clone());
        self.properties.insert(argument.clone(), schema);
        if required {
            self.required.push(json!(argument));
        }
        argument
    }

    /// The schema of all arguments. What no validator reads is left out of it: a pattern first, then the property's whole schema.
    fn schema(self) -> Value {
        let made = |properties: &Map<String, Value>| {
            json!({
                "type": "object",
                "properties": properties,
                "required": self.required,
                "additionalProperties": false,
            })
        };
        let mut properties = self.properties;
        if Validators::fault_of(&made(&properties)).is_none() {
            return made(&properties);
        }
        for (name, property) in &mut properties {
            let alone =
                |property: &Value| json!({"type": "object", "properties": {name: property}});
            if Validators::fault_of(&alone(property)).is_none() {
                continue;
            }
            without_patterns(property);
            if Validators::fault_of(&alone(property)).is_some() {
                let text = property.get("description").cloned();
                *property = json!({});
                if let (Some(text), Some(members)) = (text, property.as_object_mut()) {
                    members.insert("description".to_owned(), text);
                }
            }
        }
        if Validators::fault_of(&made(&properties)).is_some() {
            for property in properties.values_mut() {
                *property = json!({});
            }
        }
        made(&properties)
    }
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

/// What is said of the members of a form, and which of them are files.
fn encoding_of(document: &SpecDocument, content: &Value) -> BTreeMap<String, MemberEncoding> {
    let mut all: BTreeMap<String, MemberEncoding> = BTreeMap::new();
    let schema = content
        .get("schema")
        .and_then(|schema| document.resolved(schema).ok());
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    for (name, property) in properties.into_iter().flatten() {
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
        let flag = |key: &str| encoding.get(key).and_then(Value::as_bool);
        let entry = all.entry(name.clone()).or_default();
        entry.allow_reserved = flag("allowReserved") == Some(true);
        entry.content_type = text("contentType").map(str::to_owned);
        entry.explode = flag("explode");
        entry.style = text("style").and_then(|word| Style::named(word, Location::Query));
    }
    all
}
