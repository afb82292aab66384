//! A count beyond what JSON numbers hold exactly. Text form only.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::schema_bounds::join;
use crate::message::MAX_EXACT;

/// A count that may outgrow what JSON numbers hold exactly: a decimal string in the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BigCount(pub u64);

impl Serialize for BigCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for BigCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let count: u64 = text.parse().map_err(serde::de::Error::custom)?;
        if count.to_string() == text {
            Ok(Self(count))
        } else {
            Err(serde::de::Error::custom("not a canonical decimal"))
        }
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
        json_schema!({"type": "string", "pattern": "^(0|[1-9][0-9]{0,19})$"})
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
