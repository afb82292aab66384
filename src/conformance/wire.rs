//! A message as each wire protocol writes it, for the adapter of that protocol to read: one function per dialect.
//!
//! What is written here is written apart from the encoders of `adapter`, so that one misreading of a protocol does not
//! vouch for itself. A blocking body each; arguments that are no JSON value stand as their text where the protocol wants a
//! value.

use monolith_core::adapter::Adapter;
use serde_json::{Map, Value, json};

use crate::script::{CallText, MessageText, StopText, UsageText};

/// A function that writes a message, its usage, and its model as the body of a response; a list holds one element per line.
type Dialect = fn(&MessageText, Option<UsageText>, &str) -> Value;

/// Every dialect, by what recordings call the protocol.
const DIALECTS: [(&str, Dialect); 8] = [
    ("anthropic-messages", anthropic),
    ("bedrock-converse", bedrock),
    ("gemini", gemini),
    ("local-hermes", local_hermes),
    ("ollama-chat", ollama),
    ("openai-chat", openai_chat),
    ("openai-responses", openai_responses),
    ("openrouter-chat", openai_chat),
];

/// The body of a response that holds `message`.
///
/// # Errors
/// The protocol has no dialect here, or its text profile no way to write calls.
pub(crate) fn body(
    adapter: Adapter,
    message: &MessageText,
    usage: Option<UsageText>,
    model: &str,
) -> Result<String, String> {
    let proto = adapter.proto();
    let dialect = DIALECTS.iter().find(|(name, _)| *name == proto);
    let (_, write) = dialect.ok_or_else(|| {
        format!("no dialect of {proto} to write messages in: src/conformance/wire.rs")
    })?;
    let message = written(adapter.version(), message)?;
    Ok(match write(&message, usage, model) {
        Value::Array(lines) => lines
            .iter()
            .flat_map(|line| [line.to_string(), "\n".to_owned()])
            .collect(),
        document => document.to_string(),
    })
}

fn anthropic(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
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

fn bedrock(message: &MessageText, usage: Option<UsageText>, _: &str) -> Value {
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

fn gemini(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
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

/// A function that writes calls as text.
type Family = fn(&[CallText]) -> String;

/// Every text profile by its name in an adapter's version, such as `openai-chat+hermes/1`.
const FAMILIES: [(&str, Family); 3] = [("hermes", tagged), ("llama3", bare), ("qwen", tagged)];

/// Returns the message as a model without calls on the wire writes it; unchanged under a version without text profile.
///
/// # Errors
/// The version names a text profile that is not known here.
fn written(version: &str, message: &MessageText) -> Result<MessageText, String> {
    let mut written = message.clone();
    let name = version.split_once('+').map(|(_, rest)| rest);
    let name = name.and_then(|rest| rest.split('/').next());
    if let Some(name) = name {
        let family = FAMILIES.iter().find(|(family, _)| *family == name);
        let (_, write) = family.ok_or_else(|| {
            format!("no way to write the calls of {version} in text: src/conformance/wire.rs")
        })?;
        let calls = std::mem::take(&mut written.calls);
        written.content.push_str(&write(&calls));
    }
    Ok(written)
}

/// A JSON object between tags for each call.
fn tagged(calls: &[CallText]) -> String {
    let tagged = |call: &CallText| {
        let object = object(call, "arguments");
        format!("<tool_call>\n{object}\n</tool_call>")
    };
    calls.iter().map(tagged).collect::<Vec<_>>().join("\n")
}

/// A JSON object that stands alone.
fn bare(calls: &[CallText]) -> String {
    let calls = calls.iter().map(|call| object(call, "parameters"));
    calls.collect::<Vec<_>>().join("\n")
}

/// The object of a call; its arguments as they stand, JSON or not.
fn object(call: &CallText, key: &str) -> String {
    let CallText {
        name, arguments, ..
    } = call;
    format!("{{\"name\": \"{name}\", \"{key}\": {}}}", arguments.0)
}

/// A line for the text, and one that ends it.
fn local_hermes(message: &MessageText, usage: Option<UsageText>, _: &str) -> Value {
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

fn ollama(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
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

fn openai_chat(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
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

fn openai_responses(message: &MessageText, usage: Option<UsageText>, model: &str) -> Value {
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

/// The arguments as a value, their text where they are none.
fn arguments(call: &CallText) -> Value {
    let text = &call.arguments.0;
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
}

/// The id of the call at `place`, from 0.
fn id(call: &CallText, place: usize) -> String {
    let made = || format!("call_{}", place + 1);
    call.id.clone().unwrap_or_else(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::ArgumentsText;

    #[test]
    fn every_adapter_has_a_dialect_that_it_reads_back() {
        use crate::script::{ArgumentsText, CallText, StopText};
        use monolith_core::adapter::{Decoded, ResponseMeta};
        let message = MessageText {
            content: "Let me look.".to_owned(),
            calls: vec![CallText {
                id: Some("c7".to_owned()),
                name: "read_file".to_owned(),
                arguments: ArgumentsText(r#"{"path":"LICENSE"}"#.to_owned()),
            }],
            reasoning: None,
            stop: StopText::End,
        };
        for adapter in Adapter::all() {
            let body = body(adapter, &message, None, "m").unwrap();
            let meta = ResponseMeta {
                status: 200,
                ..ResponseMeta::default()
            };
            let mut decoder = adapter.decoder(meta, "m");
            decoder.push(body.as_bytes());
            let Decoded::Message(result) = decoder.finish() else {
                panic!("{}: {body}", adapter.proto());
            };
            let read = result.canonical_message.expect("a message");
            assert_eq!(read.content, message.content, "{}", adapter.proto());
            let [call] = read.tool_calls.as_slice() else {
                panic!("{}: {:?}", adapter.proto(), read.tool_calls);
            };
            assert_eq!(call.name, "read_file");
            assert_eq!(call.arguments.as_str(), r#"{"path":"LICENSE"}"#);
        }
    }

    fn check(version: &str, expect: Result<&str, &str>) {
        let message = MessageText {
            calls: vec![CallText {
                id: None,
                name: "f".to_owned(),
                arguments: ArgumentsText("{\"a\": 1".to_owned()),
            }],
            ..MessageText::default()
        };
        match (written(version, &message), expect) {
            (Ok(got), Ok(expect)) => assert_eq!(got.content, expect, "{version}"),
            (Err(got), Err(expect)) => assert!(got.contains(expect), "{got}"),
            (got, expect) => panic!("{version}: {got:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_text_profile_writes_calls_into_the_text_and_no_other_version_does() {
        let object = "{\"name\": \"f\", \"arguments\": {\"a\": 1}";
        check(
            "openai-chat+hermes/1",
            Ok(&format!("<tool_call>\n{object}\n</tool_call>")),
        );
        check(
            "openai-chat+llama3/1",
            Ok("{\"name\": \"f\", \"parameters\": {\"a\": 1}"),
        );
        check("openai-chat/1", Ok(""));
        check("openai-chat+telex/1", Err("openai-chat+telex/1"));
    }
}
