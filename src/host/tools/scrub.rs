//! Scrubs every string and key of a JSON value. Does not know which values are secret.

use serde_json::Value;

use monolith_core::message::Scrubber;

/// Every string and every key of a value, scrubbed.
pub(super) fn scrubbed(value: Value, scrub: &dyn Scrubber) -> Value {
    match value {
        Value::String(text) => Value::String(scrub.owned_text(text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| scrubbed(item, scrub))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, item)| (scrub.owned_text(key), scrubbed(item, scrub)))
            .collect(),
        other => other,
    }
}
