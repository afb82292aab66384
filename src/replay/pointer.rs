//! Where two JSON texts first differ.

use serde_json::Value;

/// The longest text of a value that a difference shows.
const SHOWN_BYTES: usize = 400;

/// The pointer to the first place where two JSON documents differ, below `root`, and both values as text. None where they
/// are equal.
#[must_use]
pub fn first_difference(
    root: &str,
    expected: &str,
    actual: &str,
) -> Option<(String, String, String)> {
    if expected == actual {
        return None;
    }
    let whole = || (root.to_owned(), shown(expected), shown(actual));
    let (Ok(left), Ok(right)) = (
        serde_json::from_str::<Value>(expected),
        serde_json::from_str::<Value>(actual),
    ) else {
        return Some(whole());
    };
    Some(descend(root, &left, &right).unwrap_or_else(whole))
}

fn descend(path: &str, left: &Value, right: &Value) -> Option<(String, String, String)> {
    if left == right {
        return None;
    }
    match (left, right) {
        (Value::Object(l), Value::Object(r)) => {
            let mut keys: Vec<&String> = l.keys().chain(r.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().find_map(|key| {
                let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                pair(&below, l.get(key), r.get(key))
            })
        }
        (Value::Array(l), Value::Array(r)) => {
            (0..l.len().max(r.len())).find_map(|i| pair(&format!("{path}/{i}"), l.get(i), r.get(i)))
        }
        _ => Some((
            path.to_owned(),
            shown(&left.to_string()),
            shown(&right.to_string()),
        )),
    }
}

fn pair(
    path: &str,
    left: Option<&Value>,
    right: Option<&Value>,
) -> Option<(String, String, String)> {
    match (left, right) {
        (Some(left), Some(right)) => descend(path, left, right),
        (left, right) => {
            let text = |side: Option<&Value>| {
                side.map_or_else(|| "absent".to_owned(), |value| shown(&value.to_string()))
            };
            Some((path.to_owned(), text(left), text(right)))
        }
    }
}

/// A text cut to what a difference shows.
pub(super) fn shown(text: &str) -> String {
    let mut end = text.len().min(SHOWN_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut out = text.get(..end).unwrap_or_default().to_owned();
    if end < text.len() {
        out.push('…');
    }
    out
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
        check(r#"{"a/b":1}"#, r#"{"a/b":2}"#, "/event/a~1b");
        check("null", r#"{"a":1}"#, "/event");
        check("broken", "1", "/event");
        assert_eq!(first_difference("", "{}", "{}"), None);
    }
}
