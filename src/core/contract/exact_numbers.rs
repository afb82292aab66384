//! Finds numbers whose canonical form is inexact (semantics §8). Changes nothing.

use serde_json::Value;

use super::schema_bounds::join;
use crate::message::MAX_EXACT;

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
