//! JSON text as a value in memory, without duplicate keys. Knows JSON limits; does not know any message.

use std::collections::HashSet;
use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Members, ObjectFault};

/// How deeply a value may nest. Deeper text is refused before anything is built from it.
const MAX_DEPTH: usize = 64;

/// The value in memory of a text that models or people wrote, under the rules of [`super::ObjectText`]: no key twice in one
/// object, no more than 64 levels.
///
/// `serde_json` reserves a key of its own: it takes an object with that key for the text that the key holds. A schema would then
/// check another value than the one that is sent. Here every key is a key.
///
/// # Errors
/// [`ObjectFault`] names the rule that the text breaks; never [`ObjectFault::NotObject`].
pub(crate) fn exact_value(text: &str) -> Result<Value, ObjectFault> {
    let whole: &RawValue = serde_json::from_str(text).map_err(|e| invalid(&e))?;
    walk(whole, 0)?;
    Ok(nearest_value(whole))
}

/// The nearest value in memory: a number beyond the largest that a double holds is that one, so that rules about types and
/// bounds judge it as they would judge the number itself; half a surrogate pair is the replacement character.
///
/// Costs one scan of the text per level: for what [`walk`] has seen.
pub(crate) fn nearest_value(raw: &RawValue) -> Value {
    let text = raw.get();
    if text.starts_with('[')
        && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text)
    {
        return items.into_iter().map(nearest_value).collect();
    }
    if text.starts_with('{')
        && let Ok(Members(members)) = serde_json::from_str(text)
    {
        let members = members.into_iter();
        let members = members.map(|(key, value)| (key, nearest_value(value)));
        return Value::Object(members.collect());
    }
    if text.starts_with('"') {
        let read = serde_json::from_str::<Lossy>(text);
        return Value::String(read.map_or_else(|_| text.to_owned(), |Lossy(read)| read));
    }
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(sign * f64::MAX))
}

/// A JSON string; what is no character stands as the replacement character.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

pub(super) fn invalid(error: &serde_json::Error) -> ObjectFault {
    ObjectFault::InvalidJson {
        line: error.line(),
        column: error.column(),
    }
}

/// Walks a JSON value level by level, noticing duplicate keys and depth. Numbers are never converted, so a number
/// that no machine type holds passes as the text it is. Costs at most one scan of the text per level.
pub(super) fn walk(value: &RawValue, depth: usize) -> Result<(), ObjectFault> {
    if depth > MAX_DEPTH {
        return Err(ObjectFault::TooDeep);
    }
    let text = value.get();
    let children: Vec<&RawValue> = if text.starts_with('{') {
        let Members(members) = serde_json::from_str(text).map_err(|e| invalid(&e))?;
        let mut seen = HashSet::new();
        if !members.iter().all(|(key, _)| seen.insert(key)) {
            return Err(ObjectFault::DuplicateKey);
        }
        members.into_iter().map(|(_, value)| value).collect()
    } else if text.starts_with('[') {
        serde_json::from_str(text).map_err(|e| invalid(&e))?
    } else {
        return Ok(());
    };
    children
        .into_iter()
        .try_for_each(|child| walk(child, depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_exactly_with_any_keys() {
        let check = |text: &str, expect: Result<&str, ObjectFault>| {
            let got = exact_value(text).map(|value| value.to_string());
            assert_eq!(got, expect.map(str::to_owned), "{text}");
        };
        for same in [
            r#"{"$serde_json::private::RawValue":"{\"text\":1}"}"#,
            r#"[{"a":{"$serde_json::private::RawValue":"\"ok\""}}]"#,
            r#"{"$serde_json::private::Number":"1"}"#,
            r#"{"a":[null,true,-1,1.5,"\u0000"],"b":{}}"#,
        ] {
            check(same, Ok(same));
        }
        check(
            "[1e400,-1e400]",
            Ok("[1.7976931348623157e+308,-1.7976931348623157e+308]"),
        );
        check(
            r#"{"k":"a\ud800b"}"#,
            Ok("{\"k\":\"a\u{fffd}\u{fffd}\u{fffd}b\"}"),
        );
        check(r#"{"a":1,"a":2}"#, Err(ObjectFault::DuplicateKey));
        check(
            &"[".repeat(100_000),
            Err(ObjectFault::InvalidJson {
                line: 1,
                column: 100_000,
            }),
        );
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        check(&deep, Err(ObjectFault::TooDeep));
    }
}
