//! A message as Ollama answers it.

use serde_json::{Value, json};

use super::call::arguments;
use crate::script::{MessageText, StopText, UsageText};

pub(super) fn body(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
    let calls: Vec<Value> = message
        .calls
        .iter()
        .map(|call| json!({"function": {"name": call.name, "arguments": arguments(call)}}))
        .collect();
    let mut said = json!({"role": "assistant", "content": message.content});
    if let Some(said) = said.as_object_mut() {
        if let Some(reasoning) = &message.reasoning {
            said.insert("thinking".to_owned(), json!(reasoning));
        }
        if !calls.is_empty() {
            said.insert("tool_calls".to_owned(), Value::Array(calls));
        }
    }
    let done_reason = match message.stop {
        StopText::Length => "length",
        StopText::End | StopText::Refusal | StopText::ContentFilter => "stop",
    };
    let mut body = json!({
        "model": model,
        "message": said,
        "done": true,
        "done_reason": done_reason,
    });
    if let (Some(usage), Some(body)) = (usage, body.as_object_mut()) {
        let input = usage.input.saturating_add(usage.cache_read);
        body.insert("prompt_eval_count".to_owned(), json!(input));
        body.insert("eval_count".to_owned(), json!(usage.output));
    }
    body
}
