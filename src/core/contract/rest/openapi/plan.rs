//! The request of an operation: turns arguments into the request that its description defines. Does not know descriptions.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::arguments::{Arguments, DESCRIPTION_BYTES};
use super::body::Body;
use super::document::{SpecDocument, SpecVersion};
use super::fault::OpenapiFault;
use super::parameter::{Location, Parameter};
use crate::contract::rest::HttpMethod;
use crate::contract::rest::request::{RequestFault, RequestParts};
use crate::contract::rest::template::{escaped_except, joined, text_of};
use crate::message::char_prefix;

/// One operation of a service. It is part of its tool's pin: a description that leads elsewhere gives another tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpOperation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Body>,
    pub(super) method: HttpMethod,
    /// Scheme, host and port.
    pub(super) origin: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parameters: Vec<Parameter>,
    /// With `{name}` for parameters.
    pub(super) path: String,
}

impl HttpOperation {
    /// Returns the tool's annotations: those of its method, and the request that it makes.
    #[must_use]
    pub fn annotations(&self) -> Value {
        let mut annotations = self.method.annotations();
        if let Some(members) = annotations.as_object_mut() {
            let request = serde_json::to_value(self).unwrap_or_default();
            members.insert("request".to_owned(), request);
        }
        annotations
    }

    /// Returns its service's URL.
    #[must_use]
    pub fn service(&self) -> Option<Url> {
        Url::parse(&self.origin).ok()
    }

    /// The request of a call.
    pub fn request(&self, arguments: &Map<String, Value>) -> Result<RequestParts, RequestFault> {
        let mut url = joined(&self.origin, &self.filled_path(arguments)?)?;
        let (mut pairs, mut headers, mut cookies) = (Vec::new(), Vec::new(), Vec::new());
        for parameter in &self.parameters {
            let Some(value) = parameter.value(arguments) else {
                continue;
            };
            match parameter.location {
                Location::Path => {}
                Location::Query => pairs.extend(parameter.in_query(value)),
                Location::Header => {
                    headers.push((parameter.name.clone(), parameter.in_header(value)?));
                }
                Location::Cookie => cookies.extend(parameter.in_query(value)),
            }
        }
        if !cookies.is_empty() {
            headers.push(("Cookie".to_owned(), cookies.join("; ")));
        }
        let query = pairs.join("&");
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        let body = self.body.as_ref().and_then(|body| {
            let value = arguments.get(&body.argument)?;
            Some(body.written(value))
        });
        let body = body.transpose()?;
        Ok(RequestParts {
            body,
            headers,
            method: self.method,
            url,
        })
    }

    fn filled_path(&self, arguments: &Map<String, Value>) -> Result<String, RequestFault> {
        let mut segments = Vec::new();
        for segment in self.path.split('/') {
            segments.push(self.filled_segment(segment, arguments)?);
        }
        Ok(segments.join("/"))
    }

    fn filled_segment(
        &self,
        segment: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String, RequestFault> {
        let (mut out, mut rest, mut last) = (String::new(), segment, None);
        while let Some((before, name, after)) = placeholder_in(rest) {
            out.push_str(&literal(before));
            rest = after;
            let mut own = self.parameters.iter();
            let own = own.find(|p| p.location == Location::Path && p.name == name);
            let value = own.and_then(|parameter| Some((parameter, parameter.value(arguments)?)));
            let Some((parameter, value)) = value else {
                let name = own.map_or(name, |parameter| &parameter.argument).to_owned();
                return Err(RequestFault::Missing { name });
            };
            out.push_str(&parameter.in_path(value));
            last = Some((parameter, value));
        }
        out.push_str(&literal(rest));
        if let Some((parameter, value)) = last
            && out.bytes().all(|byte| byte == b'.')
        {
            return Err(RequestFault::Path {
                name: parameter.argument.clone(),
                value: text_of(value),
            });
        }
        Ok(out)
    }
}

/// The text before the first placeholder, its name, and what follows.
pub(super) fn placeholder_in(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Encodes the literal part of a path into the one form that a parser leaves unchanged. Existing percent-encoding stays.
fn literal(text: &str) -> String {
    let parts = text
        .split('%')
        .map(|part| escaped_except(part, |byte| b":@!$&'()*+,;=".contains(&byte)));
    parts.collect::<Vec<_>>().join("%")
}

/// The names of the parameters of a path.
pub(super) fn names_in(path: &str) -> Vec<&str> {
    let (mut names, mut rest) = (Vec::new(), path);
    while let Some((_, name, after)) = placeholder_in(rest) {
        names.push(name);
        rest = after;
    }
    names
}

/// An operation and its place in the description.
pub(super) struct Found<'d> {
    /// The item of its path.
    pub(super) item: &'d Value,
    pub(super) method: HttpMethod,
    /// The operation object.
    pub(super) operation: &'d Value,
    pub(super) path: &'d str,
}

/// An operation as a tool, before it has a name.
pub(super) struct Described {
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) plan: HttpOperation,
}

/// The parts of a service's address.
pub(super) struct Service {
    pub(super) origin: String,
    /// Without a slash at its end.
    pub(super) path: String,
}

/// Returns the JSON pointer of a path (RFC 6901).
pub(super) fn pointer_to(path: &str) -> String {
    let path = path.replace('~', "~0").replace('/', "~1");
    format!("#/paths/{path}")
}

impl Found<'_> {
    /// Returns its JSON pointer.
    pub(super) fn pointer(&self) -> String {
        let method = self.method.as_str().to_ascii_lowercase();
        format!("{}/{method}", pointer_to(self.path))
    }

    /// True if its request body counts. 3.0 ignores a body where HTTP gives it no meaning (§4.7.10).
    const fn may_have_body(&self, version: SpecVersion) -> bool {
        let has_meaning = matches!(
            self.method,
            HttpMethod::Patch | HttpMethod::Post | HttpMethod::Put | HttpMethod::Options
        );
        has_meaning || matches!(version, SpecVersion::V31)
    }

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
    document: &'d SpecDocument<'d>,
    found: &Found<'d>,
    service: Service,
    own_headers: &[String],
) -> Result<Described, OpenapiFault> {
    let mut arguments = Arguments::new(document, own_headers);
    // No request has a fragment; some descriptions tell operations of one path apart by it.
    let path = found.path.split('#').next().unwrap_or_default();
    let in_path = names_in(path);
    let mut parameters: Vec<Parameter> = Vec::new();
    for stated in stated_parameters(document, found)? {
        parameters.extend(arguments.parameter(stated, &in_path)?);
    }
    // A path may name what the description forgot.
    for name in in_path {
        let is_stated = |p: &Parameter| p.location == Location::Path && p.name == name;
        if !parameters.iter().any(is_stated) {
            parameters.push(arguments.forgotten(name)?);
        }
    }
    let body = match found.operation.get("requestBody") {
        Some(body) if found.may_have_body(document.version()) => {
            arguments.body(document.resolved(body)?)?
        }
        _ => None,
    };
    let plan = HttpOperation {
        body,
        method: found.method,
        origin: service.origin,
        parameters,
        path: format!("{}{path}", service.path),
    };
    Ok(Described {
        description: found.description(),
        input_schema: arguments.schema()?,
        plan,
    })
}

/// The parameters of an operation: its own, and those of its path that it does not state again; by place and name. Case does
/// not matter in names of headers (RFC 9110 §5.1).
fn stated_parameters<'d>(
    document: &'d SpecDocument<'d>,
    found: &Found<'d>,
) -> Result<Vec<&'d Value>, OpenapiFault> {
    let mut stated: BTreeMap<(Location, String), (&str, &Value)> = BTreeMap::new();
    for level in [found.item, found.operation] {
        let level = level.get("parameters").and_then(Value::as_array);
        for parameter in level.into_iter().flatten() {
            document.budget.spend(1)?;
            let parameter = document.resolved(parameter)?;
            let location = parameter.get("in").and_then(Value::as_str);
            let location = location.and_then(Location::named);
            let name = parameter.get("name").and_then(Value::as_str);
            let Some((location, name)) = location.zip(name) else {
                continue;
            };
            let same = match location {
                Location::Header => name.to_ascii_lowercase(),
                Location::Path | Location::Query | Location::Cookie => name.to_owned(),
            };
            stated.insert((location, same), (name, parameter));
        }
    }
    let mut stated: Vec<_> = stated.into_iter().collect();
    stated.sort_by_key(|((location, _), (name, _))| (*location, *name));
    Ok(stated.into_iter().map(|(_, (_, value))| value).collect())
}
