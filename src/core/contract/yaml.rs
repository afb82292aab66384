//! Values of YAML 1.2 documents, typed by the core schema (YAML 1.2.2 §10.3). Knows no keys.
//!
//! `y`, `NO` and `on` are texts there. The reader of contract files (`spec/tree`) keeps positions and allows no
//! aliases; it takes the core schema from here.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

/// Maximum nesting of a document, aliases included.
const MAX_DEPTH: usize = 64;
/// Maximum number of values of a document, if its reader sets no other limit.
const MAX_VALUES: usize = 1 << 18;
/// Maximum bytes of text that anchors and aliases repeat.
const MAX_COPIED_BYTES: usize = 64 << 20;
/// The namespace of the tags of YAML itself.
const TAGS: &str = "tag:yaml.org,2002:";

/// The reason why a text gives no value. It shows nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlFault {
    /// The text is not YAML.
    #[error("it is not YAML at line {line}, column {column}")]
    Syntax {
        /// From 1.
        column: usize,
        /// From 1.
        line: usize,
    },
    /// The text is YAML that has no JSON value.
    #[error("{rule} at line {line}, column {column}")]
    NoValue {
        /// From 1.
        column: usize,
        /// From 1.
        line: usize,
        /// The broken rule.
        rule: &'static str,
    },
    /// The text nests too deeply, or has too many values.
    #[error(
        "it nests deeper than {} levels, or its aliases repeat too much",
        MAX_DEPTH
    )]
    TooLarge,
}

/// Reads a text of one document. JSON is YAML; an empty text is null.
///
/// # Errors
/// The reason why it has no value.
pub fn yaml_value(text: &str) -> Result<Value, YamlFault> {
    let mut values = 0_usize;
    yaml_value_while(text, &mut || {
        values = values.saturating_add(1);
        values <= MAX_VALUES
    })
}

/// Like [`yaml_value`]; asks before each value, those that aliases repeat included, whether to read it.
///
/// # Errors
/// As [`yaml_value`]; [`YamlFault::TooLarge`] once the answer is no.
pub(in crate::contract) fn yaml_value_while(
    text: &str,
    may_read: &mut dyn FnMut() -> bool,
) -> Result<Value, YamlFault> {
    let mut reader = Reader {
        anchors: HashMap::new(),
        copied: 0,
        documents: 0,
        may_read,
        open: Vec::new(),
        root: Value::Null,
    };
    for item in Parser::new_from_str(text) {
        let (event, span) = item.map_err(|fault| {
            let (line, column) = place(fault.marker());
            YamlFault::Syntax { column, line }
        })?;
        reader.take(event, &span)?;
    }
    Ok(reader.root)
}

/// True if a plain scalar is null.
pub(in crate::contract) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// The boolean that a plain scalar is.
pub(in crate::contract) fn bool_of(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// True if a plain scalar is a decimal number, or `.inf` or `.nan`, which YAML calls numbers too.
pub(in crate::contract) fn is_number(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(body, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let first = body.bytes().next().unwrap_or_default();
    (first.is_ascii_digit() || first == b'.')
        && body.bytes().any(|byte| byte.is_ascii_digit())
        && body.parse::<f64>().is_ok()
}

/// The integer that a plain scalar is in hexadecimal (`0x1F`) or octal (`0o17`) digits.
pub(in crate::contract) fn prefixed_integer(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text.strip_prefix("0o")?, 8),
    };
    let is_digit = |c: char| c.is_digit(radix);
    u64::from_str_radix(digits, radix)
        .ok()
        .filter(|_| digits.chars().all(is_digit))
}

/// The value of a plain scalar; `None` for a number that JSON does not have.
fn core_value(text: Cow<'_, str>) -> Option<Value> {
    if is_null(&text) {
        return Some(Value::Null);
    }
    if let Some(flag) = bool_of(&text) {
        return Some(flag.into());
    }
    if let Some(integer) = prefixed_integer(&text) {
        return Some(integer.into());
    }
    if !is_number(&text) {
        return Some(Value::String(text.into_owned()));
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    if let Ok(integer) = text.parse::<u64>() {
        return Some(integer.into());
    }
    let float = text.parse::<f64>().ok()?;
    Number::from_f64(float).map(Value::Number)
}

/// The value of a scalar. A tag of YAML decides over quotes.
fn scalar(text: Cow<'_, str>, is_plain: bool, tag: Option<&Tag>) -> Option<Value> {
    let is_typed = match tag.map(|tag| (tag.handle(), tag.suffix())) {
        Some((TAGS, "bool" | "float" | "int" | "null")) => true,
        Some((TAGS, _) | ("!", "") | ("", "!")) => false,
        Some(_) | None => is_plain,
    };
    if is_typed {
        core_value(text)
    } else {
        Some(Value::String(text.into_owned()))
    }
}

/// Line and column, both from 1.
fn place(marker: &Marker) -> (usize, usize) {
    (marker.line(), marker.col().saturating_add(1))
}

fn refuse<T>(rule: &'static str, span: &Span) -> Result<T, YamlFault> {
    let (line, column) = place(&span.start);
    Err(YamlFault::NoValue { column, line, rule })
}

/// The state between two events of the parser.
struct Reader<'c> {
    /// The values with an anchor, and how deep each nests.
    anchors: HashMap<usize, (Value, usize)>,
    copied: usize,
    documents: usize,
    may_read: &'c mut dyn FnMut() -> bool,
    open: Vec<Open>,
    root: Value,
}

/// A collection whose end is not read yet.
struct Open {
    anchor: usize,
    /// The levels below it.
    depth: usize,
    /// The key whose value comes next; mappings only.
    key: Option<Key>,
    /// Mappings, or lists of them, under `<<`.
    merged: Vec<Value>,
    value: Value,
}

/// A key of a mapping.
enum Key {
    /// `<<`: its value gives the entries that the mapping does not have.
    Merge,
    Name(String),
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlFault> {
        match event {
            Event::DocumentStart(..) => {
                self.documents = self.documents.saturating_add(1);
                if self.documents > 1 {
                    return refuse("a second document begins", span);
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                if self.awaits_key() {
                    if anchor != 0 {
                        self.keep(anchor, &Value::String(text.to_string()), 0)?;
                    }
                    if is_plain && tag.is_none() && text == "<<" {
                        return self.key(Key::Merge, span);
                    }
                    return self.key(Key::Name(text.into_owned()), span);
                }
                self.count()?;
                match scalar(text, is_plain, tag.as_deref()) {
                    Some(value) => self.put(value, (anchor, 0), span),
                    None => refuse("a number that JSON does not have", span),
                }
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Value::Array(Vec::new()), anchor, span)
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Value::Object(Map::new()), anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => {
                    let at = (open.anchor, open.depth.saturating_add(1));
                    self.put(open.whole(), at, span)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => self.repeat(anchor, span),
            _ => Ok(()),
        }
    }

    /// True if the next node is a key of a mapping.
    fn awaits_key(&self) -> bool {
        let open = self.open.last();
        open.is_some_and(|open| open.value.is_object() && open.key.is_none())
    }

    fn key(&mut self, key: Key, span: &Span) -> Result<(), YamlFault> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        if let Key::Name(name) = &key
            && open.value.get(name).is_some()
        {
            return refuse("a key occurs twice", span);
        }
        open.key = Some(key);
        Ok(())
    }

    fn begin(&mut self, value: Value, anchor: usize, span: &Span) -> Result<(), YamlFault> {
        if self.awaits_key() {
            return refuse("a key is not a text", span);
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlFault::TooLarge);
        }
        self.count()?;
        self.open.push(Open {
            anchor,
            depth: 0,
            key: None,
            merged: Vec::new(),
            value,
        });
        Ok(())
    }

    /// Puts a whole value, with its anchor and the levels in it, where it belongs.
    fn put(
        &mut self,
        value: Value,
        (anchor, depth): (usize, usize),
        span: &Span,
    ) -> Result<(), YamlFault> {
        if anchor != 0 {
            self.keep(anchor, &value, depth)?;
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = value;
            return Ok(());
        };
        parent.depth = parent.depth.max(depth);
        match (&mut parent.value, parent.key.take()) {
            (Value::Array(items), _) => items.push(value),
            (Value::Object(members), Some(Key::Name(name))) => {
                members.insert(name, value);
            }
            (Value::Object(_), Some(Key::Merge)) => {
                let is_merged = match &value {
                    Value::Array(items) => items.iter().all(Value::is_object),
                    value => value.is_object(),
                };
                if !is_merged {
                    return refuse("`<<` takes a mapping, or a list of mappings", span);
                }
                parent.merged.push(value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts the value of an anchor where an alias names it.
    fn repeat(&mut self, anchor: usize, span: &Span) -> Result<(), YamlFault> {
        let Some((value, depth)) = self.anchors.remove(&anchor) else {
            return refuse("an alias is part of the value that it names", span);
        };
        let copy = self.copy(&value)?;
        self.anchors.insert(anchor, (value, depth));
        if self.awaits_key() {
            return match copy {
                Value::String(name) => self.key(Key::Name(name), span),
                _ => refuse("a key is not a text", span),
            };
        }
        if self.open.len().saturating_add(depth) > MAX_DEPTH {
            return Err(YamlFault::TooLarge);
        }
        self.put(copy, (0, depth), span)
    }

    fn keep(&mut self, anchor: usize, value: &Value, depth: usize) -> Result<(), YamlFault> {
        let copy = self.copy(value)?;
        self.anchors.insert(anchor, (copy, depth));
        Ok(())
    }

    fn copy(&mut self, value: &Value) -> Result<Value, YamlFault> {
        self.count_all(value)?;
        Ok(value.clone())
    }

    /// Counts a value before it is read.
    fn count(&mut self) -> Result<(), YamlFault> {
        if (self.may_read)() {
            Ok(())
        } else {
            Err(YamlFault::TooLarge)
        }
    }

    /// Counts a value and everything in it before it is copied.
    fn count_all(&mut self, value: &Value) -> Result<(), YamlFault> {
        self.count()?;
        match value {
            Value::String(text) => self.count_bytes(text.len()),
            Value::Array(items) => items.iter().try_for_each(|item| self.count_all(item)),
            Value::Object(members) => members.iter().try_for_each(|(name, value)| {
                self.count_bytes(name.len())?;
                self.count_all(value)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), YamlFault> {
        self.copied = self.copied.saturating_add(bytes);
        if self.copied > MAX_COPIED_BYTES {
            return Err(YamlFault::TooLarge);
        }
        Ok(())
    }
}

impl Open {
    /// The value with the merged entries that it does not have.
    fn whole(self) -> Value {
        let mut value = self.value;
        if let Value::Object(members) = &mut value {
            let merged = self.merged.into_iter().flat_map(|merged| match merged {
                Value::Array(items) => items,
                one => vec![one],
            });
            for merged in merged {
                let Value::Object(merged) = merged else {
                    continue;
                };
                for (name, value) in merged {
                    members.entry(name).or_insert(value);
                }
            }
        }
        value
    }
}
