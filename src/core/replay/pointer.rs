//! The first difference of two JSON texts.

use serde_json::Value;

use crate::message::{char_prefix, nearest_value};

/// The text for a value that one of the two lacks.
pub const ABSENT: &str = "absent";
/// The longest text of a value that a difference shows.
const SHOWN_BYTES: usize = 400;

/// A place where two JSON documents differ: its pointer, and both values as text.
type ValueDifference = (String, String, String);

/// The pointer to the first place where two JSON documents differ, below `root`, and both values as text. None if they
/// are equal.
#[must_use]
pub fn first_difference(root: &str, expected: &str, actual: &str) -> Option<ValueDifference> {
    differences(root, expected, actual, 1).into_iter().next()
}

/// The places where two JSON documents differ, below `root`, in the order of their keys; at most `most`.
#[must_use]
pub fn differences(root: &str, expected: &str, actual: &str, most: usize) -> Vec<ValueDifference> {
    if expected == actual {
        return Vec::new();
    }
    let whole = || (root.to_owned(), shown(expected), shown(actual));
    // They hold what models wrote: every key is a key.
    let read = |text| serde_json::from_str(text).map(nearest_value);
    let (Ok(left), Ok(right)) = (read(expected), read(actual)) else {
        return vec![whole()];
    };
    let mut found = Vec::new();
    let text = |side: Option<&Value>| {
        side.map_or_else(|| ABSENT.to_owned(), |value| shown(&value.to_string()))
    };
    descend(root, Some(&left), Some(&right), &mut |path, left, right| {
        if found.len() < most {
            found.push((path.to_owned(), text(left), text(right)));
        }
    });
    if found.is_empty() {
        found.push(whole());
    }
    found
}

/// Receives the pointer of a difference, and the value of either document there.
pub(super) type OnDifference<'t> = dyn FnMut(&str, Option<&Value>, Option<&Value>) + 't;

/// Reports each pointer at which two documents differ, with both values, in the order of their keys.
pub(super) fn descend(
    path: &str,
    left: Option<&Value>,
    right: Option<&Value>,
    on_difference: &mut OnDifference<'_>,
) {
    if left == right {
        return;
    }
    match (left, right) {
        (Some(Value::Object(l)), Some(Value::Object(r))) => {
            let mut keys: Vec<&String> = l.keys().chain(r.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                descend(&below, l.get(key), r.get(key), on_difference);
            }
        }
        (Some(Value::Array(l)), Some(Value::Array(r))) => {
            for at in 0..l.len().max(r.len()) {
                descend(&format!("{path}/{at}"), l.get(at), r.get(at), on_difference);
            }
        }
        _ => on_difference(path, left, right),
    }
}

/// A text cut to what a difference shows.
pub(super) fn shown(text: &str) -> String {
    cut(text, SHOWN_BYTES)
}

/// A text cut to so many bytes; what is left out is marked.
pub(super) fn cut(text: &str, most: usize) -> String {
    let kept = char_prefix(text, most);
    let dots = if kept.len() < text.len() { "…" } else { "" };
    format!("{kept}{dots}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_by_its_pointer() {
        let check = |left: &str, right: &str, pointer: &str| {
            let got = first_difference("/event", left, right).map(|found| found.0);
            assert_eq!(got.as_deref(), Some(pointer), "{left} {right}");
        };
        check(r#"{"a":1,"b":[1,2]}"#, r#"{"a":1,"b":[1,3]}"#, "/event/b/1");
        check(r#"{"a":1}"#, r#"{"a":1,"z":null}"#, "/event/z");
        check(
            r#"{"a":{"$serde_json::private::RawValue":"1"}}"#,
            r#"{"a":1}"#,
            "/event/a",
        );
        check(r#"{"a/b":1}"#, r#"{"a/b":2}"#, "/event/a~1b");
        check("null", r#"{"a":1}"#, "/event");
        check("broken", "1", "/event");
        assert_eq!(first_difference("", "{}", "{}"), None);
    }

    #[test]
    fn every_difference_is_named_up_to_a_number() {
        let (left, right) = (
            r#"{"a":1,"b":[1,2],"c":3}"#,
            r#"{"a":2,"b":[1],"c":3,"d":4}"#,
        );
        let check = |most: usize, expect: &[&str]| {
            let found = differences("", left, right, most);
            let pointers: Vec<&str> = found.iter().map(|(at, ..)| at.as_str()).collect();
            assert_eq!(pointers, expect, "{most}");
        };
        check(9, &["/a", "/b/1", "/d"]);
        check(2, &["/a", "/b/1"]);
    }
}
