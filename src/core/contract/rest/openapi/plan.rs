//! What an operation asks: from arguments to a request as its description has it. Does not know descriptions.

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::body::Body;
use super::parameter::{Location, Parameter};
use crate::contract::rest::HttpMethod;
use crate::contract::rest::escape::escaped_except;
use crate::contract::rest::request::{RequestFault, RequestParts};
use crate::contract::rest::template::{joined, text_of};

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
    /// What its tool declares: what its method promises, and the request that is made.
    #[must_use]
    pub fn annotations(&self) -> Value {
        let mut annotations = self.method.annotations();
        if let Some(members) = annotations.as_object_mut() {
            let request = serde_json::to_value(self).unwrap_or_default();
            members.insert("request".to_owned(), request);
        }
        annotations
    }

    /// Where its service is.
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

/// What a path has beside its parameters: in the one form that a parser leaves as it is. What is encoded already stays.
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
