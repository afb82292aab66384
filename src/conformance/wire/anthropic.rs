//! A message as Anthropic's API answers it.

use serde_json::{Value, json};

use super::call::{arguments, id};
use crate::script::{MessageText, StopText, UsageText};

pub(super) fn body(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
    let mut content = Vec::new();
    if let Some(reasoning) = &message.reasoning {
        content.push(json!({"type": "thinking", "thinking": reasoning, "signature": "s"}));
    }
    if !message.content.is_empty() {
        content.push(json!({"type": "text", "text": message.content}));
    }
    for (place, call) in message.calls.iter().enumerate() {
        content.push(json!({
            "type": "tool_use",
            "id": id(call, place),
            "name": call.name,
            "input": arguments(call),
        }));
    }
    let stop_reason = match message.stop {
        StopText::Length => "max_tokens",
        StopText::Refusal | StopText::ContentFilter => "refusal",
        StopText::End if message.calls.is_empty() => "end_turn",
        StopText::End => "tool_use",
    };
    let mut body = json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
    });
    if let (Some(usage), Some(body)) = (usage, body.as_object_mut()) {
        let usage = json!({
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cache_read,
        });
        body.insert("usage".to_owned(), usage);
    }
    body
}
