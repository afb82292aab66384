//! Counts as JSON holds them exactly: integers below 2^53 (002 §4.1).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema_bounds::join;
use crate::message::MAX_EXACT;

/// A count that may grow large, such as tokens and cost: an integer below 2^53.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct BigCount(pub u64);

/// A number that is no [`BigCount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a count is below 2^53, got {0}")]
pub struct CountFault(u64);

impl TryFrom<u64> for BigCount {
    type Error = CountFault;

    fn try_from(count: u64) -> Result<Self, CountFault> {
        if count > MAX_EXACT {
            return Err(CountFault(count));
        }
        Ok(Self(count))
    }
}

impl JsonSchema for BigCount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "BigCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 0, "maximum": MAX_EXACT})
    }
}

/// The RFC 6901 pointer of a document's first number whose RFC 8785 form is an integer that it does not hold exactly
/// (semantics §8).
#[must_use]
pub fn inexact_integer_at(value: &Value) -> Option<String> {
    match value {
        Value::Number(n) => {
            let size = n.as_i64().map(i64::unsigned_abs).or_else(|| n.as_u64());
            let inexact = match (size, n.as_f64()) {
                (Some(size), _) => size > MAX_EXACT,
                // From here to 10^21 a number is written without exponent (RFC 8785 §3.2.2.3).
                (None, Some(n)) => (9_007_199_254_740_992.0..1e21).contains(&n.abs()),
                (None, None) => true,
            };
            inexact.then(String::new)
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(n, item)| {
            inexact_integer_at(item).map(|rest| join("", &n.to_string()) + &rest)
        }),
        Value::Object(map) => map
            .iter()
            .find_map(|(key, item)| inexact_integer_at(item).map(|rest| join("", key) + &rest)),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 002/4.budgets.2: the hashed form of a count is a JSON integer.
    #[test]
    fn a_count_is_an_integer_below_two_to_the_53() {
        for count in [0, 1_000_000, MAX_EXACT] {
            let text = serde_json::to_string(&BigCount(count)).unwrap();
            assert_eq!(text, count.to_string());
            assert_eq!(
                serde_json::from_str::<BigCount>(&text).unwrap(),
                BigCount(count)
            );
        }
        for wrong in ["9007199254740992", "\"7\"", "-1", "1.5", "null"] {
            let read: Result<BigCount, _> = serde_json::from_str(wrong);
            assert!(read.is_err(), "{wrong}");
        }
    }
}
