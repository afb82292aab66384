use std::fmt::Debug;

use serde_json::Value;

/// Takes out of what servers say what must not be kept. Whoever brings servers up knows what that is.
pub(crate) trait Scrub: Debug + Send + Sync {
    /// The text without it. Taking it out twice changes nothing more.
    fn text(&self, text: String) -> String;

    /// The bytes without it.
    fn bytes(&self, bytes: Vec<u8>) -> Vec<u8>;
}

/// Takes nothing out.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeepAll;

#[cfg(test)]
impl Scrub for KeepAll {
    fn text(&self, text: String) -> String {
        text
    }

    fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
}

/// Every string and every key of a value, scrubbed.
pub(super) fn scrubbed(value: Value, scrub: &dyn Scrub) -> Value {
    match value {
        Value::String(text) => Value::String(scrub.text(text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| scrubbed(item, scrub))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, item)| (scrub.text(key), scrubbed(item, scrub)))
            .collect(),
        other => other,
    }
}
