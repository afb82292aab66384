//! A message as the embedded model writes it.

use serde_json::{Value, json};

use super::text::tagged;
use crate::script::{MessageText, StopText, UsageText};

/// A line for the text, and one that ends it.
pub(super) fn body(message: &MessageText, usage: Option<UsageText>, _: &str) -> Value {
    let text = format!("{}{}", message.content, tagged(&message.calls));
    let stop = match message.stop {
        StopText::Length => "length",
        StopText::End | StopText::Refusal | StopText::ContentFilter => "end",
    };
    let usage = usage.unwrap_or_default();
    let input = usage.input.saturating_add(usage.cache_read);
    json!([
        {"text": text},
        {"stop": stop, "usage": {"input": input, "output": usage.output}},
    ])
}
