//! A message as OpenAI's chat completions answer it.

use serde_json::{Map, Value, json};

use super::call::id;
use crate::script::{MessageText, StopText, UsageText};

pub(super) fn body(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
    let calls: Vec<Value> = message
        .calls
        .iter()
        .enumerate()
        .map(|(place, call)| {
            json!({
                "id": id(call, place),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments.0},
            })
        })
        .collect();
    let refused = message.stop == StopText::Refusal;
    let mut said = Map::new();
    said.insert("role".to_owned(), json!("assistant"));
    if refused {
        said.insert("content".to_owned(), Value::Null);
        said.insert("refusal".to_owned(), json!(message.content));
    } else {
        said.insert("content".to_owned(), json!(message.content));
    }
    if let Some(reasoning) = &message.reasoning {
        said.insert("reasoning_content".to_owned(), json!(reasoning));
    }
    let finish_reason = match message.stop {
        StopText::Length => "length",
        StopText::ContentFilter => "content_filter",
        StopText::End if !calls.is_empty() => "tool_calls",
        StopText::End | StopText::Refusal => "stop",
    };
    if !calls.is_empty() {
        said.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    let mut body = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": said, "finish_reason": finish_reason}],
    });
    if let (Some(usage), Some(body)) = (usage, body.as_object_mut()) {
        body.insert("usage".to_owned(), usage_of(usage));
    }
    body
}

fn usage_of(usage: UsageText) -> Value {
    let mut report = json!({
        "prompt_tokens": usage.input.saturating_add(usage.cache_read),
        "completion_tokens": usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    });
    if let (Some(micro), Some(report)) = (usage.cost_micro_usd, report.as_object_mut()) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "costs of cases are far below 2^52 millionths"
        )]
        let dollars = micro as f64 / 1_000_000.0;
        report.insert("cost".to_owned(), json!(dollars));
    }
    report
}
