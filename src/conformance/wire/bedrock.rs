//! A message as Bedrock's Converse answers it.

use serde_json::{Value, json};

use super::call::{arguments, id};
use crate::script::{MessageText, StopText, UsageText};

pub(super) fn body(message: &MessageText, usage: Option<UsageText>, _: &str) -> Value {
    let mut content = Vec::new();
    if let Some(reasoning) = &message.reasoning {
        content.push(json!({"reasoningContent": {"reasoningText": {"text": reasoning}}}));
    }
    if !message.content.is_empty() {
        content.push(json!({"text": message.content}));
    }
    for (place, call) in message.calls.iter().enumerate() {
        let call = json!({
            "toolUseId": id(call, place),
            "name": call.name,
            "input": arguments(call),
        });
        content.push(json!({"toolUse": call}));
    }
    let stop_reason = match message.stop {
        StopText::Length => "max_tokens",
        StopText::Refusal | StopText::ContentFilter => "content_filtered",
        StopText::End if message.calls.is_empty() => "end_turn",
        StopText::End => "tool_use",
    };
    let mut body = json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_reason,
    });
    if let (Some(usage), Some(body)) = (usage, body.as_object_mut()) {
        let usage = json!({
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "cacheReadInputTokens": usage.cache_read,
        });
        body.insert("usage".to_owned(), usage);
    }
    body
}
