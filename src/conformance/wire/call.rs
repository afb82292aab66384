//! What the bodies of all protocols need of a call.

use serde_json::Value;

use crate::script::CallText;

/// The arguments as a value, their text where they are none.
pub(super) fn arguments(call: &CallText) -> Value {
    let text = &call.arguments.0;
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
}

/// The id of the call at `place`, from 0.
pub(super) fn id(call: &CallText, place: usize) -> String {
    let made = || format!("call_{}", place + 1);
    call.id.clone().unwrap_or_else(made)
}
