//! MCP sampling: reads the request of a server, and makes its result from the answer of a model. Asks no model.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{ExchangeLog, ModelPrompt};
use monolith_core::message::{
    InputAnswer, InputExchange, ObjectText, Role, SampledText, SamplingPrompt, Scrubber,
};

/// The method of the request.
pub(super) const SAMPLE: &str = "sampling/createMessage";
/// Bytes of a prompt; a longer one is refused.
const PROMPT_BYTES: usize = 256 << 10;

/// The log of one call, and the scrubber of what is noted there.
pub(super) type Noted<'n> = (&'n ExchangeLog, &'n dyn Scrubber);

/// The parameters of the request that are used (MCP schema, `CreateMessageRequestParams`). The contract chooses the model and how it
/// is sampled.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    max_tokens: u64,
    messages: Vec<Message>,
    #[serde(default)]
    system_prompt: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Message {
    content: Value,
    role: Role,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    #[serde(rename = "type")]
    kind: String,
}

/// Reads the prompt of a request, without secrets.
///
/// # Errors
/// The reason why no model gets this prompt.
pub(super) fn asked(params: &Value, scrub: &dyn Scrubber) -> Result<ModelPrompt, &'static str> {
    let params = Params::deserialize(params).map_err(|_| "it is not as the protocol has it")?;
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err("it offers tools to the model");
    }
    let mut messages = Vec::with_capacity(params.messages.len());
    for message in params.messages {
        if !matches!(message.role, Role::User | Role::Assistant) {
            return Err("a message is neither of the user nor of the assistant");
        }
        let blocks = match message.content {
            Value::Array(blocks) => blocks,
            block => vec![block],
        };
        let mut texts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let text = Text::deserialize(block).ok();
            let text = text.filter(|text| text.kind == "text");
            texts.push(text.ok_or("a message holds something else than text")?.text);
        }
        messages.push(SampledText {
            role: message.role,
            text: scrub.owned_text(texts.join("\n")),
        });
    }
    if messages.is_empty() {
        return Err("it has no message");
    }
    let prompt = SamplingPrompt {
        messages,
        system: params.system_prompt.map(|text| scrub.owned_text(text)),
    };
    let prompt = prompt.to_blob();
    if prompt.len() > PROMPT_BYTES {
        return Err("it is longer than 256 KiB");
    }
    Ok(ModelPrompt {
        max_tokens: params.max_tokens,
        prompt,
    })
}

/// Makes and notes the result from the answer of a model; `None` without an answer.
pub(super) fn sampled(
    params: &Value,
    content: Option<&ObjectText>,
    (log, scrub): Noted<'_>,
) -> Option<Value> {
    let result = content.map(ObjectText::to_value).map(|content| {
        let part = |name: &str| content.get(name).cloned().unwrap_or_default();
        json!({
            "content": {"text": part("text"), "type": "text"},
            "model": part("model"),
            "role": "assistant",
            "stopReason": part("stop"),
        })
    });
    let texts = params.pointer("/messages").and_then(Value::as_array);
    let last = texts.and_then(|messages| messages.last());
    let last = last.and_then(|message| message.pointer("/content/text"));
    log.add(
        InputExchange {
            answer: if result.is_some() {
                InputAnswer::Accept
            } else {
                InputAnswer::Decline
            },
            content: result.as_ref().map(Value::to_string),
            message: last.and_then(Value::as_str).unwrap_or_default().to_owned(),
            method: SAMPLE.to_owned(),
            requested_schema: None,
            url: None,
        },
        scrub,
    );
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::ExchangeLog;
    use monolith_core::message::NoSecrets;

    fn text(role: &str, text: &str) -> Value {
        json!({"role": role, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn a_request_of_texts_is_a_prompt_and_every_other_one_is_refused() {
        let check = |params: Value, expect: Result<(u64, usize), &str>| {
            let found = asked(&params, &NoSecrets);
            let found = found.map(|asked| {
                let prompt = SamplingPrompt::read(&asked.prompt);
                (asked.max_tokens, prompt.conversation().len())
            });
            assert_eq!(found, expect, "{params}");
        };
        let two = json!([text("user", "a"), text("assistant", "b")]);
        check(json!({"maxTokens": 7, "messages": two}), Ok((7, 2)));
        check(
            json!({"maxTokens": 7, "messages": two, "systemPrompt": "s", "temperature": 0.5, "includeContext": "none"}),
            Ok((7, 3)),
        );
        let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        check(
            json!({"maxTokens": 1, "messages": [{"role": "user", "content": blocks}]}),
            Ok((1, 1)),
        );
        check(
            json!({"maxTokens": 7, "messages": []}),
            Err("it has no message"),
        );
        check(
            json!({"messages": two}),
            Err("it is not as the protocol has it"),
        );
        check(
            json!({"maxTokens": 7, "messages": two, "tools": [{"name": "x"}]}),
            Err("it offers tools to the model"),
        );
        let image = json!({"role": "user", "content": {"type": "image", "data": "", "mimeType": "image/png"}});
        check(
            json!({"maxTokens": 7, "messages": [image]}),
            Err("a message holds something else than text"),
        );
        check(
            json!({"maxTokens": 7, "messages": [text("user", &"x".repeat(PROMPT_BYTES))]}),
            Err("it is longer than 256 KiB"),
        );
    }

    #[test]
    fn what_a_model_said_is_a_result_and_is_noted() {
        let log = ExchangeLog::default();
        let params = json!({"maxTokens": 7, "messages": [text("user", "How late?")]});
        let said = r#"{"model":"m","stop":"endTurn","text":"Noon."}"#;
        let content = ObjectText::parse(said).unwrap();
        let result = sampled(&params, Some(&content), (&log, &NoSecrets)).unwrap();
        let expect = json!({"content": {"text": "Noon.", "type": "text"}, "model": "m", "role": "assistant", "stopReason": "endTurn"});
        assert_eq!(result, expect);
        assert_eq!(sampled(&params, None, (&log, &NoSecrets)), None);
        let noted = log.take();
        assert_eq!(
            (noted[0].message.as_str(), noted[0].answer),
            ("How late?", InputAnswer::Accept)
        );
        assert_eq!(
            (noted[1].content.as_deref(), noted[1].answer),
            (None, InputAnswer::Decline)
        );
    }
}
