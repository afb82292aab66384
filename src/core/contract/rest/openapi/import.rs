//! The tools of a whole description: which operations are taken, what they are called. Sends nothing.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::document::SpecDocument;
use super::fault::OpenapiFault;
use super::plan::{Described, Found, HttpOperation, Service, described, pointer_to};
use crate::contract::rest::HttpMethod;
use crate::contract::{check_address, recorded_url};
use crate::message::{Digest, char_prefix};

/// The most operations that are taken of one description.
const MOST_OPERATIONS: usize = 1_000;
/// Digits that tell operations of one name apart.
const DIGITS: usize = 8;
/// The shortest that a name is cut to.
const LEAST_NAME_BYTES: usize = 12;

/// The author's selection from a description.
#[derive(Clone, Debug, Default)]
pub struct ImportTerms {
    /// The address of the service, in place of what the description says.
    pub base_url: Option<String>,
    /// The methods that are taken; empty: all.
    pub include_methods: Vec<HttpMethod>,
    /// The longest name of a tool, in bytes.
    pub name_bytes: usize,
    /// Names of headers that the author sends.
    pub own_headers: Vec<String>,
    /// Address of the description, if it comes from one.
    pub spec_url: Option<String>,
    /// The tags one of which an operation has; empty: any.
    pub tags: Vec<String>,
}

/// An operation as a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedTool {
    pub description: String,
    pub input_schema: Value,
    pub name: String,
    pub operation: HttpOperation,
    /// Pointer into the description (RFC 6901).
    pub pointer: String,
}

/// The tools of a description, sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Operations that give none, by where the description has them (RFC 6901), and why.
    pub left_out: Vec<(String, OpenapiFault)>,
    /// The tools, in the order of the description.
    pub tools: Vec<ImportedTool>,
}

/// Reads a description. The same text and terms give the same tools.
/// `awaited` says that somebody still waits for them.
///
/// # Errors
/// The reason why the description gives no tools at all.
pub fn imported(
    text: &str,
    terms: &ImportTerms,
    awaited: &dyn Fn() -> bool,
) -> Result<Imported, OpenapiFault> {
    let document = SpecDocument::parse(text, awaited)?;
    let own_headers: Vec<String> = terms
        .own_headers
        .iter()
        .map(|name| name.to_ascii_lowercase())
        .collect();
    let (found, mut left_out) = operations(&document, terms)?;
    if found.len() > MOST_OPERATIONS {
        return Err(OpenapiFault::TooMany {
            found: found.len(),
            most: MOST_OPERATIONS,
        });
    }
    let mut all: Vec<(String, String, (String, Described))> = Vec::new();
    for found in &found {
        document.budget.next_operation();
        let key = format!("{} {}", found.method.as_str(), found.path);
        let made = counted(&document, found)
            .and_then(|()| service(&document, found, terms))
            .and_then(|service| described(&document, found, service, &own_headers));
        match made {
            Ok(made) => all.push((key, wanted_name(found), (found.pointer(), made))),
            Err(fault) if fault.ends_reading() => {
                return Err(fault.of_operation(found.pointer()));
            }
            Err(fault) => left_out.push((found.pointer(), fault)),
        }
    }
    // An address that the whole description lacks is named once.
    if all.is_empty() {
        let no_server = |(_, fault): &(String, OpenapiFault)| {
            let is_it = matches!(fault, OpenapiFault::NoServer { .. });
            is_it.then(|| fault.clone())
        };
        if let Some(fault) = left_out.iter().find_map(no_server) {
            return Err(fault);
        }
    }
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name, _) in &all {
        *count.entry(cut(name, terms.name_bytes)).or_default() += 1;
    }
    let tools = all.into_iter().map(|(key, name, (pointer, made))| {
        let short = cut(&name, terms.name_bytes);
        let is_own = short == name && count.get(&short) == Some(&1);
        let name = if is_own {
            name
        } else {
            distinct_name(&name, &key, terms.name_bytes)
        };
        ImportedTool {
            description: made.description,
            input_schema: made.input_schema,
            name,
            operation: made.plan,
            pointer,
        }
    });
    let mut tools: Vec<ImportedTool> = tools.collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    left_out.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(Imported { left_out, tools })
}

/// Operations that are taken, and those that are not, with the reason.
type FoundOperations<'d> = (Vec<Found<'d>>, Vec<(String, OpenapiFault)>);

/// The operations that are taken.
fn operations<'d>(
    document: &'d SpecDocument<'d>,
    terms: &ImportTerms,
) -> Result<FoundOperations<'d>, OpenapiFault> {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    let paths = document.root().get("paths").and_then(Value::as_object);
    for (path, item) in paths.into_iter().flatten() {
        document.budget.next_operation();
        if !path.starts_with('/') {
            // What begins with `x-` is an extension.
            continue;
        }
        if path.contains('?') {
            let reason = "its path holds `?`; parameters say what the query is".to_owned();
            let pointer = pointer_to(&recorded_url(path));
            left_out.push((pointer, OpenapiFault::Operation { reason }));
            continue;
        }
        let item = match document.resolved(item) {
            Ok(item) => item,
            Err(fault) if fault.ends_reading() => return Err(fault.of_operation(pointer_to(path))),
            Err(fault) => {
                left_out.push((pointer_to(path), fault));
                continue;
            }
        };
        for method in HttpMethod::ALL {
            let operation = item.get(method.as_str().to_ascii_lowercase());
            let Some(operation) = operation.filter(|operation| operation.is_object()) else {
                continue;
            };
            let tags = operation.get("tags").and_then(Value::as_array);
            document.budget.spend_bytes(tags.map_or(0, Vec::len))?;
            let taken = terms.include_methods.is_empty() || terms.include_methods.contains(&method);
            if taken && has_tag(operation, &terms.tags) {
                found.push(Found {
                    item,
                    method,
                    operation,
                    path,
                });
            }
        }
    }
    Ok((found, left_out))
}

/// Counts the texts of an operation: several paths may refer to one.
fn counted(document: &SpecDocument<'_>, found: &Found<'_>) -> Result<(), OpenapiFault> {
    for key in ["operationId", "summary", "description"] {
        let text = found.operation.get(key).and_then(Value::as_str);
        document.budget.spend_bytes(text.map_or(0, str::len))?;
    }
    Ok(())
}

fn has_tag(operation: &Value, tags: &[String]) -> bool {
    let own = operation.get("tags").and_then(Value::as_array);
    let mut own = own.into_iter().flatten().filter_map(Value::as_str);
    tags.is_empty() || own.any(|tag| tags.iter().any(|wanted| wanted == tag))
}

/// Returns the preferred name of an operation: its id, else its method and path.
fn wanted_name(found: &Found<'_>) -> String {
    let id = found.operation.get("operationId").and_then(Value::as_str);
    let fallback = format!(
        "{}{}",
        found.method.as_str().to_ascii_lowercase(),
        found.path
    );
    let words = |text: &str| {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            if c.is_ascii_alphanumeric() || c == '-' {
                out.push(c);
            } else if !out.ends_with('_') {
                out.push('_');
            }
        }
        out.trim_matches('_').to_owned()
    };
    let named = id.map(words).filter(|name| !name.is_empty());
    named.unwrap_or_else(|| words(&fallback))
}

fn cut(name: &str, most: usize) -> String {
    char_prefix(name, most.max(LEAST_NAME_BYTES)).to_owned()
}

/// A name that only this operation has.
fn distinct_name(name: &str, key: &str, most: usize) -> String {
    let room = most.max(LEAST_NAME_BYTES).saturating_sub(DIGITS + 1);
    let digest = Digest::of(key.as_bytes()).short(DIGITS);
    format!("{}_{digest}", char_prefix(name, room))
}

/// Returns the service of an operation: the author's address, else the first server of the operation, its path or the
/// description.
fn service(
    document: &SpecDocument<'_>,
    found: &Found<'_>,
    terms: &ImportTerms,
) -> Result<Service, OpenapiFault> {
    let no_server = |reason: String| OpenapiFault::NoServer { reason };
    let address = match &terms.base_url {
        Some(address) => address.clone(),
        None => stated_address(document, found, terms)?.map_err(no_server)?,
    };
    document.budget.spend_bytes(address.len())?;
    document.budget.keep(address.len())?;
    let shown = recorded_url(&address);
    // A parser would take the braces for a host.
    if address.contains(['{', '}']) {
        return Err(no_server(format!(
            "{shown:?} has a variable without a default"
        )));
    }
    check_address(&address).map_err(|rule| no_server(format!("{shown:?}: {rule}")))?;
    let url = Url::parse(&address).map_err(|fault| no_server(format!("{shown:?}: {fault}")))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(no_server(format!("{shown:?} has a query or a fragment")));
    }
    Ok(Service {
        origin: url.origin().ascii_serialization(),
        path: url.path().trim_end_matches('/').to_owned(),
    })
}

/// Returns the described server address, resolved against the description's URL if any.
///
/// # Errors
/// The limit that looking for it passes; within that, the reason why it is no address.
fn stated_address(
    document: &SpecDocument<'_>,
    found: &Found<'_>,
    terms: &ImportTerms,
) -> Result<Result<String, String>, OpenapiFault> {
    let levels = [found.operation, found.item, document.root()];
    let mut servers = levels
        .iter()
        .map(|level| level.get("servers")?.as_array()?.first());
    let server = servers.find_map(|server| server);
    let stated = match server {
        Some(server) => server_address(document, server)?,
        None => "/".to_owned(),
    };
    if Url::parse(&stated).is_ok() {
        return Ok(Ok(stated));
    }
    let base = terms.spec_url.as_deref();
    let Some(base) = base.and_then(|base| Url::parse(base).ok()) else {
        return Ok(Err(format!("it is {:?}", recorded_url(&stated))));
    };
    let joined = base.join(&stated);
    Ok(joined
        .map(|url| url.to_string())
        .map_err(|fault| fault.to_string()))
}

/// The address of a server with the defaults of its variables.
fn server_address(document: &SpecDocument<'_>, server: &Value) -> Result<String, OpenapiFault> {
    let mut address = server
        .get("url")
        .and_then(Value::as_str)
        .unwrap_or("/")
        .to_owned();
    let variables = server.get("variables").and_then(Value::as_object);
    for (name, variable) in variables.into_iter().flatten() {
        let value = match variable.get("default") {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => continue,
        };
        document.budget.spend_bytes(address.len())?;
        address = address.replace(&format!("{{{name}}}"), &value);
    }
    document.budget.spend_bytes(address.len())?;
    Ok(address)
}
