//! The text of one JSON object, kept byte for byte. Does not know schemas.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::value::{RoundedValue, invalid, nearest_value, walk};
use super::{Digest, ObjectFault};

/// The text of exactly one JSON object without duplicate keys, kept bit for bit as it was written.
///
/// The only way to make one is [`ObjectText::parse`], so a call whose arguments are truncated, null
/// or an array cannot be represented (semantics §6, structural faults).
///
/// ```
/// use monolith_core::message::ObjectText;
///
/// assert!(ObjectText::parse(r#"{"path": "."}"#).is_ok());
/// assert!(ObjectText::parse("[1, 2]").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ObjectText(String);

impl ObjectText {
    /// Accepts the text of one JSON object; surrounding white space is allowed and kept.
    ///
    /// # Errors
    /// [`ObjectFault`] names the rule that the text breaks.
    pub fn parse(text: impl Into<String>) -> Result<Self, ObjectFault> {
        let text = text.into();
        let whole: &RawValue = serde_json::from_str(&text).map_err(|e| invalid(&e))?;
        if !whole.get().starts_with('{') {
            return Err(ObjectFault::NotObject);
        }
        walk(whole, 0)?;
        Ok(Self(text))
    }

    /// The empty object.
    #[must_use]
    pub fn empty() -> Self {
        Self("{}".to_owned())
    }

    /// The text as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// BLAKE3 over the text as written: what an approval binds to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }

    /// The parsed value. Numbers keep their text's precision only as far as JSON numbers in memory
    /// can, and one that is too large for them is the largest; what is sent to a tool is the text, not this.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).map_or(serde_json::Value::Null, nearest_value)
    }
}

impl ObjectText {
    /// The parsed values around the text: a number that memory does not hold is both of its neighbours.
    pub(crate) fn rounded(&self) -> RoundedValue {
        match serde_json::from_str(&self.0) {
            Ok(raw) => RoundedValue::around(raw),
            // Not for a text that was parsed.
            Err(_) => RoundedValue {
                down: serde_json::Value::Null,
                up: None,
            },
        }
    }
}

impl<'de> Deserialize<'de> for ObjectText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(text).map_err(D::Error::custom)
    }
}

impl fmt::Display for ObjectText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_is_kept_bit_for_bit() {
        for text in [
            "{}",
            " {\"b\":1,\"a\":1e400}\n",
            "{\"x\":\"\\u0000\",\"y\":\"x86\"}",
        ] {
            let parsed = ObjectText::parse(text);
            assert_eq!(parsed.as_ref().map(ObjectText::as_str), Ok(text), "{text}");
        }
    }

    #[test]
    fn every_structural_fault_has_its_name() {
        let check = |text: &str, expect: ObjectFault| {
            assert_eq!(ObjectText::parse(text), Err(expect), "{text}");
        };
        for text in ["null", "[]", "\"str\"", "1", "[{}]"] {
            check(text, ObjectFault::NotObject);
        }
        for text in ["", "{\"a\":", "{}}", "{} {}", "{'a':1}", "{\"a\":1,}"] {
            assert!(
                matches!(
                    ObjectText::parse(text),
                    Err(ObjectFault::InvalidJson { .. })
                ),
                "{text}"
            );
        }
        check("{\"a\":1,\"a\":2}", ObjectFault::DuplicateKey);
        check("{\"o\":{\"a\":1,\"\\u0061\":2}}", ObjectFault::DuplicateKey);
        check(
            &format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100)),
            ObjectFault::TooDeep,
        );
        let bomb = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        check(&bomb, ObjectFault::TooDeep);
    }
}
