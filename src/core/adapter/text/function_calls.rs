//! Reads calls of the form `<function=…><parameter=…>`. Knows the form and its repairs; does not know other text profiles.

use std::ops::Range;

use super::lines::begins_a_line;
use super::payload::{CLOSE, Fix, Flaw, OPEN};
use crate::adapter::parameter_types::{Kind, ParameterTypes};
use crate::adapter::repair::repair;
use crate::message::FailureCode;

pub(super) const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// A call in the form of Qwen3-Coder: `<function=name><parameter=key>value</parameter></function>`.
#[derive(Debug)]
pub(super) struct Function {
    /// The arguments as the text of an object, each value typed by the tool's schema.
    pub arguments: String,
    /// Its length in bytes.
    pub length: usize,
    pub name: String,
}

/// A call's text taken apart, its values not yet read.
#[derive(Debug)]
struct Outline<'t> {
    length: usize,
    name: &'t str,
    /// Each key, and the range of its value.
    values: Vec<(&'t str, Range<usize>)>,
}

/// Reads the call that `text` begins with. `base` is the offset of `text` in the whole message.
///
/// A value is bare text. If the parameter takes strings, the value is that text, letter for letter, except for one line break
/// at each end. Otherwise it is the JSON value that the text is. A text that is neither stays a string, which the tool's schema
/// then refuses by name.
pub(super) fn function(text: &str, base: usize, types: &ParameterTypes) -> Result<Function, Flaw> {
    let Outline {
        length,
        name,
        values,
    } = outline(text)?;
    let mut members: Vec<String> = Vec::new();
    for (key, range) in values {
        let value = text.get(range.clone()).unwrap_or_default();
        let plain = without_line_breaks(value);
        let json = typed(plain, types.kinds(name, key)).map_err(|(steps, text)| {
            Flaw::new(FailureCode::ArgsInvalidJson).repaired_by(Fix {
                range: base + range.start..base + range.end,
                steps,
                text,
            })
        })?;
        members.push(format!("{}: {json}", serde_json::Value::from(key)));
    }
    Ok(Function {
        arguments: format!("{{{}}}", members.join(", ")),
        length,
        name: name.to_owned(),
    })
}

/// Returns the length of the call that `text` begins with, whatever its values are; none if it is not whole.
pub(super) fn whole_length(text: &str) -> Option<usize> {
    outline(text).ok().map(|outline| outline.length)
}

fn outline(text: &str) -> Result<Outline<'_>, Flaw> {
    let shape = || Flaw::new(FailureCode::CallShape);
    let cut = || Flaw::new(FailureCode::ArgsInvalidJson);
    let (name, mut rest) = head(text, FUNCTION).ok_or_else(cut)??;
    if name.is_empty() {
        return Err(Flaw::new(FailureCode::CallNameMissing));
    }
    let mut values = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(FUNCTION_END) {
            return Ok(Outline {
                length: text.len() - after.len(),
                name,
                values,
            });
        }
        if !rest.starts_with(PARAMETER) {
            let is_cut = [PARAMETER, FUNCTION_END]
                .iter()
                .any(|tag| tag.starts_with(rest));
            return Err(if is_cut { cut() } else { shape() });
        }
        let (key, inside) = head(rest, PARAMETER).ok_or_else(cut)??;
        let length = value_length(inside).ok_or_else(cut)?;
        let (value, after) = inside.split_at(length);
        if holds_a_tag(value) {
            return Err(shape());
        }
        let from = text.len() - inside.len();
        values.push((key, from..from + length));
        rest = after.strip_prefix(PARAMETER_END).unwrap_or(after);
    }
}

/// True if a tag of the form begins a line of a value, or follows another tag there. Either an earlier tag was never closed and
/// this is the next one, or the text is about tags: this cannot be decided.
fn holds_a_tag(value: &str) -> bool {
    [PARAMETER, FUNCTION, FUNCTION_END, OPEN, CLOSE]
        .into_iter()
        .flat_map(|tag| value.match_indices(tag))
        .any(|(at, tag)| {
            let before = value.get(..at).unwrap_or_default();
            let trimmed = before.trim_end();
            let follows = match tag {
                FUNCTION => [OPEN, CLOSE, FUNCTION_END].as_slice(),
                CLOSE => &[FUNCTION_END],
                _ => &[],
            };
            begins_a_line(before) || follows.iter().any(|tag| trimmed.ends_with(tag))
        })
}

/// The name in the tag that `text` begins with, and what follows it; none if the tag does not end.
fn head<'t>(text: &'t str, tag: &str) -> Option<Result<(&'t str, &'t str), Flaw>> {
    let inside = text.strip_prefix(tag)?;
    let (name, rest) = inside.split_once('>')?;
    if name.contains(['<', '\n', '"']) || name.trim() != name {
        return Some(Err(Flaw::new(FailureCode::CallShape)));
    }
    Some(Ok((name, rest)))
}

/// Returns the length of a value: up to the first closing tag after which a parameter begins or the call ends. Any earlier
/// closing tag is part of the value.
fn value_length(text: &str) -> Option<usize> {
    let ends = |(at, tag): &(usize, &str)| {
        let after = text.get(at + tag.len()..).unwrap_or_default().trim_start();
        after.starts_with(PARAMETER) || after.starts_with(FUNCTION_END)
    };
    let mut closings = text.match_indices(PARAMETER_END);
    closings.find(ends).map(|(at, _)| at)
}

fn without_line_breaks(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").unwrap_or(value);
    let value = value.strip_prefix('\n').unwrap_or(value);
    let value = value.strip_suffix('\n').unwrap_or(value);
    value.strip_suffix('\r').unwrap_or(value)
}

/// The JSON of a value of one of these kinds; else what would repair it, under the names of its steps.
fn typed(value: &str, kinds: &[Kind]) -> Result<String, (Vec<&'static str>, String)> {
    let trimmed = value.trim();
    let as_string = || serde_json::Value::from(value).to_string();
    let found = Kind::of_text(trimmed);
    if kinds.is_empty() || kinds.contains(&Kind::String) {
        let is_null = found == Some(Kind::Null) && kinds.contains(&Kind::Null);
        return Ok(if is_null {
            trimmed.to_owned()
        } else {
            as_string()
        });
    }
    match found {
        Some(kind) if kinds.contains(&kind) => Ok(trimmed.to_owned()),
        Some(_) => Ok(as_string()),
        None => {
            let literal = match trimmed {
                "True" | "False" if kinds.contains(&Kind::Boolean) => Some(trimmed.to_lowercase()),
                "None" if kinds.contains(&Kind::Null) => Some("null".to_owned()),
                _ => None,
            };
            if let Some(literal) = literal {
                return Err((vec!["literal_replaced"], literal));
            }
            if kinds.contains(&Kind::Object)
                && let Some(repaired) = repair(trimmed)
            {
                return Err((repaired.steps, repaired.object.as_str().to_owned()));
            }
            Ok(as_string())
        }
    }
}
