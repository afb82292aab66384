//! Templates of addresses and bodies: `${parameters.x}` stands for an argument (001 §6). Does not know HTTP.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};
use url::Url;

use super::request::RequestFault;
use crate::contract::{check_address, recorded_url};

const OPEN: &str = "${";
const ARGUMENT: &str = "${parameters.";

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Argument(&'t str),
    Text(&'t str),
}

/// The address of a template, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UrlTemplate<'t> {
    /// Scheme and authority, without placeholders.
    origin: &'t str,
    /// Begins with a slash, or is empty.
    path: &'t str,
    query: Option<&'t str>,
}

impl<'t> UrlTemplate<'t> {
    /// # Errors
    /// The rule that the text breaks.
    pub(super) fn parse(text: &'t str) -> Result<Self, String> {
        check_address(text)?;
        let after = text.find("://").map_or(0, |at| at + "://".len());
        let rest = text.get(after..).unwrap_or_default();
        let end = rest
            .find(['/', '?', '#'])
            .map_or(text.len(), |at| after + at);
        let (origin, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        if origin.contains(OPEN) {
            return Err(
                "a placeholder stands in the path or the query of an address, not in its host"
                    .to_owned(),
            );
        }
        if let Some(name) = pieces(text).find_map(unknown) {
            return Err(format!(
                "`{name}` is no argument: an address takes `${{parameters.NAME}}`, and secrets belong into headers"
            ));
        }
        let template = Self {
            origin,
            path,
            query,
        };
        // What the author wrote is what is asked: the address is in the one form that a parser leaves as it is.
        let sample = fill_text(path, |_| "x".to_owned());
        let parsed = Url::parse(&format!("{origin}{sample}")).map_err(|fault| fault.to_string())?;
        let is_same = parsed.path() == sample || sample.is_empty() && parsed.path() == "/";
        if !is_same {
            return Err(format!("the path is written {:?}", parsed.path()));
        }
        Ok(template)
    }

    /// The arguments that it names.
    pub(super) fn arguments(&self) -> BTreeSet<&'t str> {
        let parts = [self.path, self.query.unwrap_or_default()];
        parts.into_iter().flat_map(arguments_in).collect()
    }

    /// Returns the arguments in its path: a request requires all of them.
    pub(super) fn arguments_of_path(&self) -> BTreeSet<&'t str> {
        arguments_in(self.path).collect()
    }

    /// Returns the address with arguments filled in; `more` follows its own query pairs.
    pub(super) fn fill(
        &self,
        arguments: &Map<String, Value>,
        more: &[(String, String)],
    ) -> Result<Url, RequestFault> {
        let path = self.filled_path(arguments)?;
        let mut url = joined(self.origin, &path)?;
        let mut pairs: Vec<String> = Vec::new();
        for pair in self.query.into_iter().flat_map(|query| query.split('&')) {
            pairs.extend(filled_pair(pair, arguments));
        }
        pairs.extend(more.iter().map(|(name, value)| pair_of(name, value)));
        let query = pairs.join("&");
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        Ok(url)
    }

    fn filled_path(&self, arguments: &Map<String, Value>) -> Result<String, RequestFault> {
        let mut segments = Vec::new();
        for segment in self.path.split('/') {
            let Some(name) = arguments_in(segment).next() else {
                segments.push(segment.to_owned());
                continue;
            };
            let missing = arguments_in(segment).find(|name| plain(arguments, name).is_none());
            if let Some(name) = missing {
                let name = name.to_owned();
                return Err(RequestFault::Missing { name });
            }
            let filled = fill_text(segment, |name| {
                escaped(&plain(arguments, name).unwrap_or_default())
            });
            if filled.bytes().all(|byte| byte == b'.') {
                let (name, value) = (name.to_owned(), filled);
                return Err(RequestFault::Path { name, value });
            }
            segments.push(filled);
        }
        Ok(segments.join("/"))
    }
}

/// The address of an origin and a path, where a parser leaves both as they are.
pub(super) fn joined(origin: &str, path: &str) -> Result<Url, RequestFault> {
    let address = |reason: String| RequestFault::Address { reason };
    let base = Url::parse(origin).map_err(|fault| address(fault.to_string()))?;
    let url = Url::parse(&format!("{origin}{path}")).map_err(|fault| address(fault.to_string()))?;
    let is_same_path = url.path() == path || path.is_empty();
    if url.origin() == base.origin() && is_same_path {
        return Ok(url);
    }
    Err(address(format!("the path {path:?} leads elsewhere")))
}

/// `name=value`, both encoded.
pub(super) fn pair_of(name: &str, value: &str) -> String {
    format!("{}={}", escaped(name), escaped(value))
}

/// Returns the query pairs of an argument that nothing else places: a list gives one pair per item, all with the same name.
pub(super) fn pairs_of(name: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().flat_map(|item| pairs_of(name, item)).collect(),
        value => vec![(name.to_owned(), text_of(value))],
    }
}

/// The pair of a query with its arguments. One whose value is an argument that is not there is left out.
fn filled_pair(pair: &str, arguments: &Map<String, Value>) -> Vec<String> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    if let Some(argument) = only_argument(value) {
        let Some(given) = find(arguments, argument) else {
            return Vec::new();
        };
        let pairs = pairs_of("", given).into_iter();
        return pairs
            .map(|(_, value)| format!("{name}={}", escaped(&value)))
            .collect();
    }
    let filled = fill_text(pair, |name| {
        escaped(&plain(arguments, name).unwrap_or_default())
    });
    vec![filled]
        .into_iter()
        .filter(|pair| !pair.is_empty())
        .collect()
}

/// The body of a template: a text that is one placeholder becomes its argument, whatever that is; within a longer text it is written out. A
/// member or an item whose argument is not there is left out.
pub(super) fn fill_body(template: &Value, arguments: &Map<String, Value>) -> Option<Value> {
    Some(match template {
        Value::String(text) => match only_argument(text) {
            Some(name) => find(arguments, name)?.clone(),
            None => Value::String(fill_text(text, |name| {
                plain(arguments, name).unwrap_or_default()
            })),
        },
        Value::Array(items) => {
            let filled = items.iter();
            Value::Array(
                filled
                    .filter_map(|item| fill_body(item, arguments))
                    .collect(),
            )
        }
        Value::Object(members) => {
            let filled = members.iter();
            let filled = filled
                .filter_map(|(name, value)| Some((name.clone(), fill_body(value, arguments)?)));
            Value::Object(filled.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    })
}

/// The same of a body that is a text and no JSON: nothing of an argument ends its place in a form or in XML. Where the text is one placeholder,
/// the argument is the body, as the model writes it.
pub(super) fn fill_text_body(
    template: &str,
    arguments: &Map<String, Value>,
    media_type: &str,
) -> Option<String> {
    if let Some(name) = only_argument(template) {
        return find(arguments, name).map(text_of);
    }
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    Some(fill_text(template, |name| {
        let value = plain(arguments, name).unwrap_or_default();
        if essence == "application/x-www-form-urlencoded" {
            escaped(&value)
        } else if essence.ends_with("/xml") || essence.ends_with("+xml") {
            escaped_in_xml(&value)
        } else {
            value
        }
    }))
}

/// A text as content or as an attribute of XML (§2.4).
fn escaped_in_xml(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;").replace('"', "&quot;");
    text.replace('\'', "&apos;")
}

/// The arguments that a body names.
pub(super) fn arguments_of_body(template: &Value) -> BTreeSet<&str> {
    match template {
        Value::String(text) => arguments_in(text).collect(),
        Value::Array(items) => items.iter().flat_map(arguments_of_body).collect(),
        Value::Object(members) => members.values().flat_map(arguments_of_body).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => BTreeSet::new(),
    }
}

/// A key of a body that holds a placeholder.
pub(super) fn argument_in_key(template: &Value) -> Option<&str> {
    match template {
        Value::Array(items) => items.iter().find_map(argument_in_key),
        Value::Object(members) => members.iter().find_map(|(key, value)| {
            let is_it = arguments_in(key).next().is_some();
            is_it
                .then_some(key.as_str())
                .or_else(|| argument_in_key(value))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// An address as a contract may hold it: of its query the names, and the values that are arguments.
#[must_use]
pub fn recorded_template(url: &str) -> String {
    let recorded = recorded_url(url);
    let (Some((place, names)), Some((_, values))) = (recorded.split_once('?'), url.split_once('?'))
    else {
        return recorded;
    };
    let pairs = names.split('&').zip(values.split('&'));
    let pairs = pairs.map(|(recorded, written)| {
        if written.contains(ARGUMENT) && without_parameters(written).ends_with('=') {
            written
        } else {
            recorded
        }
    });
    let pairs: Vec<&str> = pairs.collect();
    format!("{place}?{}", pairs.join("&"))
}

/// The address without its placeholders.
#[must_use]
pub fn without_parameters(url: &str) -> String {
    fill_text(url, |_| String::new())
}

/// The pieces of a text. A placeholder that is not closed is text.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(after) = rest.strip_prefix(ARGUMENT)
            && let Some((name, tail)) = after.split_once('}')
        {
            rest = tail;
            return Some(Piece::Argument(name));
        }
        let from = usize::from(rest.starts_with(OPEN)) * OPEN.len();
        let end = rest.get(from..).and_then(|rest| rest.find(OPEN));
        let end = end.map_or(rest.len(), |at| from + at);
        let (piece, tail) = rest.split_at_checked(end)?;
        rest = tail;
        Some(Piece::Text(piece))
    })
}

/// Returns a text that only begins like a placeholder.
fn unknown(piece: Piece<'_>) -> Option<&str> {
    match piece {
        Piece::Text(text) if text.starts_with(OPEN) => {
            let end = text.find('}').map_or(text.len(), |at| at + 1);
            text.get(..end)
        }
        Piece::Text(_) | Piece::Argument(_) => None,
    }
}

fn arguments_in(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Argument(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// The argument that a text is, where it is nothing else.
fn only_argument(text: &str) -> Option<&str> {
    let mut all = pieces(text);
    match (all.next(), all.next()) {
        (Some(Piece::Argument(name)), None) => Some(name),
        _ => None,
    }
}

fn fill_text(text: &str, value: impl Fn(&str) -> String) -> String {
    let filled = pieces(text).map(|piece| match piece {
        Piece::Argument(name) => value(name),
        Piece::Text(text) => text.to_owned(),
    });
    filled.collect()
}

/// An argument by its name, else by the names of members, such as `page.size`.
fn find<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let by_members = || {
        let (first, rest) = name.split_once('.')?;
        let first = arguments.get(first)?;
        rest.split('.').try_fold(first, |value, key| value.get(key))
    };
    arguments.get(name).or_else(by_members)
}

/// An argument as text; none if it is not there, or null.
fn plain(arguments: &Map<String, Value>, name: &str) -> Option<String> {
    let value = find(arguments, name).filter(|value| !value.is_null());
    value.map(text_of)
}

/// A value as an address or a form has it: text as it is, a list by commas, else JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(text_of).collect();
            items.join(",")
        }
        value => value.to_string(),
    }
}

/// Encodes every byte that is not unreserved: in what comes of it nothing separates anything.
pub(super) fn escaped(text: &str) -> String {
    escaped_except(text, |_| false)
}

/// The same, and leaves the ASCII characters for which `keeps` holds as they are.
pub(super) fn escaped_except(text: &str, keeps: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || byte.is_ascii() && keeps(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
