//! A message as Gemini's API answers it.

use serde_json::{Value, json};

use super::call::{arguments, id};
use crate::script::{MessageText, StopText, UsageText};

pub(super) fn body(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
    let mut parts = Vec::new();
    if let Some(reasoning) = &message.reasoning {
        parts.push(json!({"text": reasoning, "thought": true}));
    }
    if !message.content.is_empty() {
        parts.push(json!({"text": message.content}));
    }
    for (place, call) in message.calls.iter().enumerate() {
        let call = json!({"id": id(call, place), "name": call.name, "args": arguments(call)});
        parts.push(json!({"functionCall": call}));
    }
    let finish_reason = match message.stop {
        StopText::Length => "MAX_TOKENS",
        StopText::Refusal | StopText::ContentFilter => "SAFETY",
        StopText::End => "STOP",
    };
    let mut body = json!({
        "candidates": [{
            "content": {"role": "model", "parts": parts},
            "finishReason": finish_reason,
            "index": 0,
        }],
        "modelVersion": model,
    });
    if let (Some(usage), Some(body)) = (usage, body.as_object_mut()) {
        let usage = json!({
            "promptTokenCount": usage.input.saturating_add(usage.cache_read),
            "candidatesTokenCount": usage.output,
            "cachedContentTokenCount": usage.cache_read,
        });
        body.insert("usageMetadata".to_owned(), usage);
    }
    body
}
