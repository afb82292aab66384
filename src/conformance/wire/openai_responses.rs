//! A message as OpenAI's responses answer it.

use serde_json::{Value, json};

use super::call::id;
use crate::script::{MessageText, StopText, UsageText};

pub(super) fn body(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
    let mut output = Vec::new();
    if let Some(reasoning) = &message.reasoning {
        let summary = [json!({"type": "summary_text", "text": reasoning})];
        output.push(json!({"type": "reasoning", "id": "rs_1", "summary": summary}));
    }
    let refused = message.stop == StopText::Refusal;
    if refused || !message.content.is_empty() {
        let part = if refused {
            json!({"type": "refusal", "refusal": message.content})
        } else {
            json!({"type": "output_text", "text": message.content})
        };
        output.push(json!({
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }));
    }
    for (place, call) in message.calls.iter().enumerate() {
        output.push(json!({
            "type": "function_call",
            "id": format!("fc_{place}"),
            "call_id": id(call, place),
            "name": call.name,
            "arguments": call.arguments.0,
            "status": "completed",
        }));
    }
    let incomplete = match message.stop {
        StopText::Length => Some("max_output_tokens"),
        StopText::ContentFilter => Some("content_filter"),
        StopText::End | StopText::Refusal => None,
    };
    let mut body = json!({
        "id": "resp_1",
        "object": "response",
        "model": model,
        "status": if incomplete.is_some() { "incomplete" } else { "completed" },
        "incomplete_details": incomplete.map(|reason| json!({"reason": reason})),
        "output": output,
    });
    if let (Some(usage), Some(body)) = (usage, body.as_object_mut()) {
        let usage = json!({
            "input_tokens": usage.input.saturating_add(usage.cache_read),
            "output_tokens": usage.output,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
        });
        body.insert("usage".to_owned(), usage);
    }
    body
}
