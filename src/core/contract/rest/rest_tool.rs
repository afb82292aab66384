//! A tool that an author writes as one request. Sends nothing, and never sees the values of headers.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::HttpMethod;
use super::openapi::is_json;
use super::request::{RequestBody, RequestFault, RequestParts};
use super::template::{
    UrlTemplate, argument_in_key, arguments_of_body, fill_body, fill_text_body, pairs_of,
};
use crate::contract::{PrivateNetwork, recorded_url};

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
    /// The reading of a streamed response.
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
    /// Validates the definition before any call.
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

    /// Builds the request of a call. Arguments not placed by the URL go into the query; for POST, PUT or PATCH they form a JSON
    /// body. With a body template they are dropped: the author defined what is sent. `stated` is the author's content type for
    /// the body.
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

    /// True if the schema declares that argument. A schema without properties declares every argument.
    fn declares(&self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or(name);
        self.properties()
            .is_none_or(|known| known.contains_key(name) || known.contains_key(first))
    }

    /// True if arguments other than those in the address are possible.
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

/// Limits on every request of a tool, whatever the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebLimits {
    /// True if the service may be on this machine.
    pub loopback: bool,
    /// Bytes of a body that are returned; the rest is left out.
    pub max_bytes: u64,
    /// Redirects that are followed, within the service.
    pub max_redirects: u32,
    /// Networks that are not public and that the service may be in; left out where it may be in none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<PrivateNetwork>,
}

/// A tool that is one request, as the contract sees it. Its description and its schema are those of its tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestTerms {
    /// The body with places for arguments; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_template: Option<Value>,
    /// Limits on its requests.
    pub limits: WebLimits,
    /// Its method.
    pub method: HttpMethod,
    /// The reading of a response that is a stream of events; omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<StreamTerms>,
}

/// The tools of a description of a service, as the contract sees them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenapiTerms {
    /// The address of the service, where its author says; else the description does.
    pub base_url: Option<String>,
    /// The methods that are taken; empty: all.
    pub include_methods: Vec<HttpMethod>,
    /// Limits on requests.
    pub limits: WebLimits,
    /// The file or the address of the description, as its author wrote it.
    pub spec: String,
    /// The tags one of which an operation has; empty: any.
    pub tags: Vec<String>,
}

impl OpenapiTerms {
    /// True if `spec` is a URL, not a file.
    #[must_use]
    pub fn is_at_address(&self) -> bool {
        self.spec.contains("://")
    }

    /// Returns the location of the description in a form safe to record or to show.
    #[must_use]
    pub fn recorded_spec(&self) -> String {
        if self.is_at_address() {
            recorded_url(&self.spec)
        } else {
            self.spec.clone()
        }
    }
}

/// The extraction of an answer from a stream of events. Each event is a line with a JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamTerms {
    /// The member of the last event that is the whole answer.
    pub answer_field: String,
    /// The member that says which kind of event it is.
    pub discriminator_field: String,
    /// The kind of the last event.
    pub done_value: String,
    /// Prefix of lines with events; other lines are skipped.
    pub line_prefix: String,
    /// The member of an event that is a piece of the answer.
    pub token_field: String,
    /// The kind of events with pieces.
    pub token_value: String,
}

impl Default for StreamTerms {
    fn default() -> Self {
        Self {
            answer_field: "answer".to_owned(),
            discriminator_field: "type".to_owned(),
            done_value: "done".to_owned(),
            line_prefix: String::new(),
            token_field: "content".to_owned(),
            token_value: "token".to_owned(),
        }
    }
}
