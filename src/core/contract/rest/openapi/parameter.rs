//! Parameters of an operation: every style, exploded or not (OpenAPI 3.1 §4.8.12, RFC 6570). Does not know schemas.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::contract::rest::request::RequestFault;
use crate::contract::rest::template::{escaped, escaped_except, text_of};

/// The place of a parameter in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Location {
    Path,
    Query,
    Header,
    Cookie,
}

impl Location {
    pub(super) fn named(word: &str) -> Option<Self> {
        match word {
            "path" => Some(Self::Path),
            "query" => Some(Self::Query),
            "header" => Some(Self::Header),
            "cookie" => Some(Self::Cookie),
            _ => None,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// The serialization of lists and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Style {
    DeepObject,
    Form,
    /// The value as JSON, whatever it is: what a description says by a media type.
    Json,
    Label,
    Matrix,
    PipeDelimited,
    Simple,
    SpaceDelimited,
}

impl Style {
    /// The style of that name, if parameters there may have it.
    pub(super) fn named(word: &str, location: Location) -> Option<Self> {
        let style = match word {
            "deepObject" => Self::DeepObject,
            "form" => Self::Form,
            "label" => Self::Label,
            "matrix" => Self::Matrix,
            "pipeDelimited" => Self::PipeDelimited,
            "simple" => Self::Simple,
            "spaceDelimited" => Self::SpaceDelimited,
            _ => return None,
        };
        let fits = match location {
            Location::Path => matches!(style, Self::Label | Self::Matrix | Self::Simple),
            Location::Query => matches!(
                style,
                Self::DeepObject | Self::Form | Self::PipeDelimited | Self::SpaceDelimited
            ),
            Location::Header => style == Self::Simple,
            Location::Cookie => style == Self::Form,
        };
        fits.then_some(style)
    }

    pub(super) const fn default_in(location: Location) -> Self {
        match location {
            Location::Path | Location::Header => Self::Simple,
            Location::Query | Location::Cookie => Self::Form,
        }
    }
}

/// A parameter of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Parameter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) allow_empty: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) allow_reserved: bool,
    /// The argument that is its value.
    pub(super) argument: String,
    pub(super) explode: bool,
    #[serde(rename = "in")]
    pub(super) location: Location,
    pub(super) name: String,
    pub(super) style: Style,
}

/// A value as styles see it.
enum Shape {
    List(Vec<String>),
    Members(Vec<(String, String)>),
    One(String),
}

impl Shape {
    /// True for an empty list or object, which RFC 6570 §2.3 treats as undefined.
    fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Members(members) => members.is_empty(),
            Self::One(_) => false,
        }
    }

    fn of(value: &Value) -> Self {
        let some = |value: &&Value| !value.is_null();
        match value {
            Value::Array(items) => Self::List(items.iter().filter(some).map(text_of).collect()),
            Value::Object(members) => {
                let members = members.iter().filter(|(_, value)| !value.is_null());
                Self::Members(members.map(|(k, v)| (k.clone(), text_of(v))).collect())
            }
            value => Self::One(text_of(value)),
        }
    }
}

impl Parameter {
    /// Its value in a call; none if there is none.
    pub(super) fn value<'a>(&self, arguments: &'a Map<String, Value>) -> Option<&'a Value> {
        let given = arguments.get(&self.argument);
        given.filter(|value| !value.is_null())
    }

    fn shape(&self, value: &Value) -> Shape {
        if self.style == Style::Json {
            Shape::One(value.to_string())
        } else {
            Shape::of(value)
        }
    }

    /// Its part of a path, as RFC 6570 §3.2 expands it. Nothing of a value separates segments.
    pub(super) fn in_path(&self, value: &Value) -> String {
        let shape = self.shape(value);
        if shape.is_empty() {
            return String::new();
        }
        let (first, between, is_named) = match self.style {
            Style::Label => (".", ".", false),
            Style::Matrix => (";", ";", true),
            _ => ("", ",", false),
        };
        let named = |value: String| match (is_named, value.is_empty()) {
            (false, _) => value,
            (true, true) => escaped(&self.name),
            (true, false) => format!("{}={value}", escaped(&self.name)),
        };
        let parts: Vec<String> = match shape {
            Shape::One(text) => vec![named(escaped(&text))],
            Shape::List(items) => {
                let items = items.iter().map(|item| escaped(item));
                if self.explode {
                    items.map(named).collect()
                } else {
                    vec![named(items.collect::<Vec<_>>().join(","))]
                }
            }
            Shape::Members(members) => {
                let members = members.iter().map(|(k, v)| (escaped(k), escaped(v)));
                if self.explode {
                    members.map(|(k, v)| format!("{k}={v}")).collect()
                } else {
                    let parts = members.flat_map(|(k, v)| [k, v]);
                    vec![named(parts.collect::<Vec<_>>().join(","))]
                }
            }
        };
        format!("{first}{}", parts.join(between))
    }

    /// Its pairs of a query, or of a form. No value adds a pair.
    pub(super) fn in_query(&self, value: &Value) -> Vec<String> {
        let name = escaped(&self.name);
        if self.style == Style::DeepObject {
            let mut pairs = Vec::new();
            self.deep(&name, value, &mut pairs);
            return pairs;
        }
        let between = match self.style {
            Style::SpaceDelimited => "%20",
            Style::PipeDelimited => "%7C",
            _ => ",",
        };
        let parts = match self.shape(value) {
            Shape::One(text) => return vec![format!("{name}={}", self.text(&text))],
            Shape::List(items) if self.explode => {
                let items = items.iter();
                let pairs = items.map(|item| format!("{name}={}", self.text(item)));
                let pairs: Vec<String> = pairs.collect();
                return if pairs.is_empty() {
                    self.empty(&name)
                } else {
                    pairs
                };
            }
            Shape::Members(members) if self.explode => {
                let members = members.iter();
                let pairs = members.map(|(k, v)| format!("{}={}", escaped(k), self.text(v)));
                let pairs: Vec<String> = pairs.collect();
                return if pairs.is_empty() {
                    self.empty(&name)
                } else {
                    pairs
                };
            }
            Shape::List(items) => items.iter().map(|item| self.item(item)).collect(),
            Shape::Members(members) => {
                let members = members.iter();
                let parts = members.flat_map(|(k, v)| [escaped(k), self.item(v)]);
                parts.collect::<Vec<_>>()
            }
        };
        if parts.is_empty() {
            return self.empty(&name);
        }
        vec![format!("{name}={}", parts.join(between))]
    }

    fn empty(&self, name: &str) -> Vec<String> {
        let pair = self.allow_empty.then(|| format!("{name}="));
        pair.into_iter().collect()
    }

    fn deep(&self, name: &str, value: &Value, pairs: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    self.deep(&format!("{name}%5B{}%5D", escaped(key)), value, pairs);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.deep(name, item, pairs)),
            Value::Null => {}
            value => pairs.push(format!("{name}={}", self.text(&text_of(value)))),
        }
    }

    /// A value that stands alone. Where reserved characters are let through, those stay encoded that end a value: `&`, `#`, `+`, brackets.
    fn text(&self, text: &str) -> String {
        escaped_except(text, |byte| {
            self.allow_reserved && b":/?@!$'()*,;=".contains(&byte)
        })
    }

    /// The same of an item of a list, which a comma would end, too.
    fn item(&self, text: &str) -> String {
        escaped_except(text, |byte| {
            self.allow_reserved && b":/?@!$'()*;=".contains(&byte)
        })
    }

    /// The value of a header.
    pub(super) fn in_header(&self, value: &Value) -> Result<String, RequestFault> {
        let text = match self.shape(value) {
            Shape::One(text) => text,
            Shape::List(items) => items.join(","),
            Shape::Members(members) => {
                let between = if self.explode { "=" } else { "," };
                let pairs = members.iter().map(|(k, v)| format!("{k}{between}{v}"));
                pairs.collect::<Vec<_>>().join(",")
            }
        };
        if text.chars().any(char::is_control) {
            return Err(RequestFault::Value {
                name: self.argument.clone(),
                rule: "holds a line break or another control character, which no header holds",
            });
        }
        Ok(text)
    }
}
