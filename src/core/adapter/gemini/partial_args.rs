//! Builds arguments from pieces with JSON paths. Does not know the call that they belong to.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::wire::WirePartialArg;
use crate::adapter::json::{Raw, elements, object, string};

/// The most pieces of one event, and the most elements that an array may grow to.
const MAX_PIECES: usize = 65_536;
/// Maximum depth of a path; deeper arguments are refused anyway.
const MAX_STEPS: usize = 66;

/// The arguments of a call that arrive value by value, each under its path.
#[derive(Debug, Default)]
pub(super) struct PartialArgs(Map<String, Value>);

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl PartialArgs {
    /// Takes the pieces of one event; false where one has no readable path, no value, or a place that its path does not
    /// lead to.
    pub(super) fn take(&mut self, raw: &RawValue) -> bool {
        let Some((pieces, false)) = elements(raw, MAX_PIECES) else {
            return false;
        };
        pieces.into_iter().all(|raw| self.piece(raw).is_some())
    }

    /// The text of the object.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    fn piece(&mut self, raw: &RawValue) -> Option<()> {
        let piece: WirePartialArg<'_> = object(raw.get())?;
        let steps = steps(&string(piece.json_path)?)?;
        let value = value_of(&piece)?;
        let (first, rest) = steps.split_first()?;
        let Step::Key(first) = first else {
            return None;
        };
        let mut slot = self.0.entry(first.clone()).or_insert(Value::Null);
        for step in rest {
            slot = descend(slot, step)?;
        }
        match (slot, value) {
            // A continued text: its pieces come under the same path.
            (Value::String(text), Value::String(more)) => text.push_str(&more),
            (slot @ Value::Null, value) => *slot = value,
            _ => return None,
        }
        Some(())
    }
}

fn descend<'a>(slot: &'a mut Value, step: &Step) -> Option<&'a mut Value> {
    if slot.is_null() {
        *slot = match step {
            Step::Key(_) => Value::Object(Map::new()),
            Step::Index(_) => Value::Array(Vec::new()),
        };
    }
    match (slot, step) {
        (Value::Object(members), Step::Key(key)) => {
            Some(members.entry(key.clone()).or_insert(Value::Null))
        }
        (Value::Array(elements), Step::Index(index)) => {
            if *index == elements.len() && *index < MAX_PIECES {
                elements.push(Value::Null);
            }
            elements.get_mut(*index)
        }
        _ => None,
    }
}

fn value_of(piece: &WirePartialArg<'_>) -> Option<Value> {
    // What is to be a number or a truth value is no object, whatever a parser makes of its keys.
    let read = |raw: Raw<'_>| {
        let text = raw.filter(|raw| !raw.get().starts_with('{'))?.get();
        serde_json::from_str::<Value>(text).ok()
    };
    if piece.string_value.is_some() {
        return string(piece.string_value).map(Value::String);
    }
    if piece.number_value.is_some() {
        return read(piece.number_value).filter(Value::is_number);
    }
    if piece.bool_value.is_some() {
        return read(piece.bool_value).filter(Value::is_boolean);
    }
    piece.null_value.map(|_| Value::Null)
}

/// The steps of a path such as `$.a[0]['b.c']`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_STEPS {
            return None;
        }
        let (step, after) = if let Some(dotted) = rest.strip_prefix('.') {
            let end = dotted.find(['.', '[']).unwrap_or(dotted.len());
            let (name, after) = dotted.split_at(end);
            (Step::Key(name.to_owned()), after)
        } else {
            let inside = rest.strip_prefix('[')?;
            let quote = inside.chars().next().filter(|c| matches!(c, '\'' | '"'));
            if let Some(quote) = quote {
                let (name, after) = inside.get(1..)?.split_once(&format!("{quote}]"))?;
                (Step::Key(name.to_owned()), after)
            } else {
                let (index, after) = inside.split_once(']')?;
                (Step::Index(index.parse().ok()?), after)
            }
        };
        if step == Step::Key(String::new()) {
            return None;
        }
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expect: Option<&str>) {
        let mut args = PartialArgs::default();
        let taken = pieces.iter().all(|text| {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            args.take(raw)
        });
        assert_eq!(taken.then(|| args.text()).as_deref(), expect, "{pieces:?}");
    }

    #[test]
    fn values_are_placed_by_their_paths() {
        check(&[], Some("{}"));
        check(
            &[
                r#"[{"jsonPath":"$.a","stringValue":"x","willContinue":true}]"#,
                r#"[{"jsonPath":"$.a","stringValue":"y"},{"jsonPath":"$.b[0].c","numberValue":0.5}]"#,
                r#"[{"jsonPath":"$.b[0].d","boolValue":true},{"jsonPath":"$.b[1]","nullValue":"NULL_VALUE"}]"#,
                r#"[{"jsonPath":"$['e.f'][\"g\"]","stringValue":""}]"#,
            ],
            Some(r#"{"a":"xy","b":[{"c":0.5,"d":true},null],"e.f":{"g":""}}"#),
        );
    }

    #[test]
    fn a_piece_without_place_or_value_is_no_piece() {
        for piece in [
            r#"[{"jsonPath":"$.a"}]"#,
            r#"[{"stringValue":"x"}]"#,
            r#"[{"jsonPath":"a","stringValue":"x"}]"#,
            r#"[{"jsonPath":"$","stringValue":"x"}]"#,
            r#"[{"jsonPath":"$[0]","stringValue":"x"}]"#,
            r#"[{"jsonPath":"$.a[1]","stringValue":"x"}]"#,
            r#"[{"jsonPath":"$.a[99999999999999999999]","stringValue":"x"}]"#,
            r#"[{"jsonPath":"$.a..b","stringValue":"x"}]"#,
            r#"[{"jsonPath":"$.a","numberValue":"1"}]"#,
            r#"[{"jsonPath":"$.a","numberValue":{"$serde_json::private::RawValue":"1"}}]"#,
            r#"[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a","numberValue":1}]"#,
            r#"[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a.b","numberValue":1}]"#,
            "[7]",
            "{}",
        ] {
            check(&[piece], None);
        }
        let deep = format!(
            r#"[{{"jsonPath":"${}","boolValue":true}}]"#,
            ".a".repeat(10_000)
        );
        check(&[&deep], None);
    }
}
