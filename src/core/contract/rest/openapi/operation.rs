//! One operation of a description as a tool. Does not know which operations are taken.

use std::collections::BTreeMap;

use serde_json::Value;

use super::arguments::{Arguments, DESCRIPTION_BYTES};
use super::document::{SpecDocument, SpecVersion};
use super::fault::OpenapiFault;
use super::parameter::{Location, Parameter};
use super::plan::{HttpOperation, names_in};
use crate::contract::rest::HttpMethod;
use crate::message::char_prefix;

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

/// Where a description has a path (RFC 6901).
pub(super) fn pointer_to(path: &str) -> String {
    let path = path.replace('~', "~0").replace('/', "~1");
    format!("#/paths/{path}")
}

impl Found<'_> {
    /// Where its description has it.
    pub(super) fn pointer(&self) -> String {
        let method = self.method.as_str().to_ascii_lowercase();
        format!("{}/{method}", pointer_to(self.path))
    }

    /// Whether what is said of a body counts: in 3.0 not where HTTP gives it no meaning (§4.7.10).
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

/// The parameters of an operation: its own, and those of its path that it does not state again; by place and name.
fn stated_parameters<'d>(
    document: &'d SpecDocument<'d>,
    found: &Found<'d>,
) -> Result<Vec<&'d Value>, OpenapiFault> {
    let mut stated: BTreeMap<(Location, &str), &Value> = BTreeMap::new();
    for level in [found.item, found.operation] {
        let level = level.get("parameters").and_then(Value::as_array);
        for parameter in level.into_iter().flatten() {
            document.budget.spend(1)?;
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
