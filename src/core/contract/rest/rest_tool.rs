//! A tool that an author writes as one request. Sends nothing, and never sees the values of headers.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::openapi::is_json;
use super::request::{RequestBody, RequestFault, RequestParts};
use super::template::{
    UrlTemplate, argument_in_key, arguments_of_body, fill_body, fill_text_body, pairs_of,
};
use super::{HttpMethod, StreamTerms};

/// The media type of bodies that are made of arguments.
const JSON: &str = "application/json";

/// A tool that is one request (001 §6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RestTool {
    /// The body with places for arguments.
    pub body_template: Option<Value>,
    /// The description that the model sees.
    pub description: String,
    /// Its method.
    pub method: HttpMethod,
    /// JSON Schema of its arguments.
    pub parameters_schema: Value,
    /// How its answer is read where it comes as a stream.
    pub streaming: Option<StreamTerms>,
    /// Its address with places for arguments.
    pub url: String,
}

/// A rule that a definition breaks, at one of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DefinitionFault {
    Body(String),
    Schema(String),
    Url(String),
}

impl RestTool {
    /// What can be judged of it before a call.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub(crate) fn check(&self) -> Result<(), DefinitionFault> {
        let url = UrlTemplate::parse(&self.url).map_err(DefinitionFault::Url)?;
        if self.parameters_schema.get("type").and_then(Value::as_str) != Some("object") {
            let rule = "the schema of arguments is of `type: object`".to_owned();
            return Err(DefinitionFault::Schema(rule));
        }
        let unknown = |names: BTreeSet<&str>| {
            let mut names = names.into_iter();
            let unknown = names.find(|name| !self.declares(name))?;
            Some(format!(
                "`${{parameters.{unknown}}}` is no property of the schema of arguments"
            ))
        };
        if let Some(rule) = unknown(url.arguments()) {
            return Err(DefinitionFault::Url(rule));
        }
        let Some(body) = &self.body_template else {
            return Ok(());
        };
        if !self.method.has_body() && self.method != HttpMethod::Delete {
            let rule = format!("a {} request has no body", self.method.as_str());
            return Err(DefinitionFault::Body(rule));
        }
        if let Some(key) = argument_in_key(body) {
            let rule =
                format!("the key `{key}` holds a placeholder; only values stand for arguments");
            return Err(DefinitionFault::Body(rule));
        }
        match unknown(arguments_of_body(body)) {
            Some(rule) => Err(DefinitionFault::Body(rule)),
            None => Ok(()),
        }
    }

    /// The schema that a model reads: an argument that has its place in the path is needed, whatever the author says of it.
    pub fn offered_schema(&self) -> Value {
        let mut schema = self.parameters_schema.clone();
        let url = UrlTemplate::parse(&self.url).ok();
        let needed = url.iter().flat_map(UrlTemplate::arguments_of_path);
        let needed: BTreeSet<&str> = needed.map(|name| self.argument_of(name)).collect();
        if let Some(members) = schema.as_object_mut().filter(|_| !needed.is_empty()) {
            let required = members.entry("required").or_insert_with(|| json!([]));
            if let Some(required) = required.as_array_mut() {
                let missing = needed
                    .iter()
                    .filter(|name| !required.contains(&json!(name)));
                let missing: Vec<Value> = missing.map(|name| json!(name)).collect();
                required.extend(missing);
            }
        }
        schema
    }

    /// The argument that a placeholder takes its value from.
    fn argument_of<'n>(&self, name: &'n str) -> &'n str {
        let first = name.split('.').next().unwrap_or(name);
        match self.properties() {
            Some(known) if known.contains_key(name) => name,
            _ => first,
        }
    }

    /// The request of a call. Arguments without a place of their own go into the query, and of a POST, PUT or PATCH into a body of JSON. Beside
    /// a template of the body they go nowhere: the author said what is sent. `stated` is the type of the body that the author sends it with.
    pub fn request(
        &self,
        arguments: &Map<String, Value>,
        stated: Option<&str>,
    ) -> Result<RequestParts, RequestFault> {
        let url =
            UrlTemplate::parse(&self.url).map_err(|reason| RequestFault::Address { reason })?;
        let placed = url.arguments();
        let is_placed = |name: &String| {
            let mut placed = placed.iter();
            placed.any(|path| path == name || path.split('.').next() == Some(name))
        };
        let rest = arguments.iter().filter(|(name, _)| !is_placed(name));
        let rest: Map<String, Value> = rest.map(|(k, v)| (k.clone(), v.clone())).collect();
        let (mut query, mut body) = (Vec::new(), None);
        let as_text = stated.filter(|media_type| !is_json(media_type));
        match (&self.body_template, as_text) {
            (Some(Value::String(template)), Some(media_type)) => {
                let text = fill_text_body(template, arguments, media_type);
                body = text.map(|text| (text, media_type));
            }
            (Some(template), _) => {
                let filled = fill_body(template, arguments);
                body = filled.map(|filled| (filled.to_string(), JSON));
            }
            (None, _) if self.method.has_body() => {
                let text = Value::Object(rest).to_string();
                body = Some((text, JSON)).filter(|_| self.has_arguments_left(&placed));
            }
            (None, _) => {
                let pairs = rest.iter().flat_map(|(name, value)| pairs_of(name, value));
                query = pairs.collect();
            }
        }
        Ok(RequestParts {
            body: body.map(|(text, media_type)| RequestBody {
                bytes: text.into_bytes(),
                media_type: media_type.to_owned(),
            }),
            headers: Vec::new(),
            method: self.method,
            url: url.fill(arguments, &query)?,
        })
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.parameters_schema.get("properties")?.as_object()
    }

    /// Whether the schema has that argument. One that lists no properties has any.
    fn declares(&self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or(name);
        self.properties()
            .is_none_or(|known| known.contains_key(name) || known.contains_key(first))
    }

    /// Whether there may be arguments beside those of the address.
    fn has_arguments_left(&self, placed: &BTreeSet<&str>) -> bool {
        let is_placed = |name: &str| {
            placed
                .iter()
                .any(|path| path.split('.').next() == Some(name))
        };
        self.properties()
            .is_none_or(|known| known.keys().any(|name| !is_placed(name)))
    }
}
