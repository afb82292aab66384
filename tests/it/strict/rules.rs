//! The strict servers themselves: a request within the rules is admitted, and each change that breaks a rule is refused in the
//! provider's words.

use serde_json::{Value, json};

use super::provider::Provider;
use super::server::{Answer, Given};

const SCHEMA: &str = r#"{"type":"object","properties":{"text":{"type":"string"}}}"#;

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// A server's memory of one signature.
fn given() -> Given {
    let mut given = Given::default();
    given
        .signatures
        .insert("signed".to_owned(), "Hm.".to_owned());
    given
}

/// A call that was answered: the second request of a loop, within all rules.
fn request(provider: Provider) -> (&'static str, Value) {
    let function = json!({"name": "echo", "parameters": schema()});
    match provider {
        Provider::Responses => (
            "/v1/responses",
            json!({"model": "gpt-5.4", "store": false, "include": ["reasoning.encrypted_content"],
            "tools": [{"type": "function", "name": "echo", "strict": false, "parameters": schema()}],
            "input": [
                {"role": "user", "content": "Work."},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "signed"},
                {"type": "message", "role": "assistant", "phase": "commentary", "content": "I look."},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "echo", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "one"},
            ]}),
        ),
        Provider::Opus | Provider::Sonnet => {
            let thinking = if provider == Provider::Opus {
                json!({"type": "adaptive"})
            } else {
                json!({"type": "enabled", "budget_tokens": 1024})
            };
            (
                "/v1/messages",
                json!({"model": "claude", "max_tokens": 4096, "thinking": thinking, "tool_choice": {"type": "auto"},
                "tools": [{"name": "echo", "input_schema": schema()}],
                "messages": [
                    {"role": "user", "content": "Work."},
                    {"role": "assistant", "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "signed"},
                        {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {}},
                    ]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"}]},
                ]}),
            )
        }
        Provider::Gemini => (
            "/v1beta/models/gemini-3-pro-preview:generateContent",
            json!({"tools": [{"functionDeclarations": [{"name": "echo", "parameters": schema()}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "Work."}]},
                {"role": "model", "parts": [{"functionCall": {"name": "echo", "args": {}}, "thoughtSignature": "signed"}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "echo", "response": {"output": "one"}}}]},
            ]}),
        ),
        _ => {
            let id = "abcDEF123";
            let mut call = json!({"id": id, "type": "function", "function": {"name": "echo", "arguments": "{}"}});
            if provider == Provider::GeminiChat {
                call["extra_content"] = json!({"google": {"thought_signature": "signed"}});
            }
            let mut message =
                json!({"role": "assistant", "content": "I look.", "tool_calls": [call]});
            if matches!(provider, Provider::DeepSeek | Provider::Kimi) {
                message["reasoning_content"] = json!("Hm.");
            }
            let path = match provider {
                Provider::GeminiChat => "/v1beta/openai/chat/completions",
                _ => "/v1/chat/completions",
            };
            let body = json!({"model": provider.model(), "tools": [{"type": "function", "function": function}], "tool_choice": "auto",
            "messages": [
                {"role": "user", "content": "Work."},
                message,
                {"role": "tool", "tool_call_id": id, "content": "one"},
            ]});
            (path, body)
        }
    }
}

fn judged(provider: Provider, change: impl FnOnce(&mut Value)) -> Result<(), Answer> {
    let (path, mut body) = request(provider);
    change(&mut body);
    provider.judge(path, &body, &given()).map(drop)
}

/// Puts `value` at a JSON pointer, whose parent is there; null removes it.
fn put(body: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Array(list) => match key.parse::<usize>() {
            Ok(at) if value.is_null() => drop(list.remove(at)),
            Ok(at) => list[at] = value,
            Err(_) => list.push(value),
        },
        object if value.is_null() => drop(object.as_object_mut().unwrap().remove(key)),
        object => object[key] = value,
    }
}

#[test]
fn a_request_within_the_rules_is_admitted_everywhere() {
    for provider in Provider::ALL {
        assert_eq!(judged(provider, |_| {}), Ok(()), "{provider:?}");
    }
}

/// Each change, the status and a part of the body.
#[test]
fn a_request_that_breaks_a_rule_is_refused_in_the_providers_words() {
    use Provider::{DeepSeek, Gemini, GeminiChat, Gpt, Kimi, Mistral, Opus, Responses, Sonnet};
    let user = json!({"role": "user", "content": "And?"});
    let anything = json!({"anyOf": [{"required": ["a"]}], "type": "object", "properties": {}});
    let cases = [
        (
            Gpt,
            "/max_tokens",
            json!(9),
            400,
            r#""type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter""#,
        ),
        (
            Gpt,
            "/temperature",
            json!(0.7),
            400,
            "'temperature' does not support 0.7 with this model",
        ),
        (
            Gpt,
            "/top_p",
            json!(0.5),
            400,
            "Unsupported parameter: 'top_p'",
        ),
        (
            Gpt,
            "/stop",
            json!(["x"]),
            400,
            "Unsupported parameter: 'stop'",
        ),
        (
            Gpt,
            "/repeat_penalty",
            json!(1.1),
            400,
            "Unrecognized request argument supplied: repeat_penalty",
        ),
        (
            Gpt,
            "/stream_options",
            json!({"include_usage": true}),
            400,
            "only allowed when 'stream' is enabled",
        ),
        (
            Gpt,
            "/reasoning_effort",
            json!("max"),
            400,
            "Supported values are: 'minimal', 'low', 'medium', and 'high'",
        ),
        (
            Gpt,
            "/tools",
            json!([]),
            400,
            "'tool_choice' is only allowed when 'tools' are specified",
        ),
        (
            Gpt,
            "/tools/0/function/parameters",
            json!({"type": "object"}),
            400,
            "object schema missing properties",
        ),
        (
            Gpt,
            "/tools/0/function/parameters",
            anything.clone(),
            400,
            "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level",
        ),
        (
            Gpt,
            "/tools/0/function/name",
            json!("a.b"),
            400,
            "Invalid 'tools[0].function.name': string does not match pattern",
        ),
        (
            Gpt,
            "/tools/0/function/name",
            json!("a".repeat(65)),
            400,
            "string too long",
        ),
        (
            Gpt,
            "/messages/1/tool_calls/0/function/name",
            json!("a.b"),
            400,
            "Invalid 'messages[1].tool_calls[0].function.name'",
        ),
        (
            Gpt,
            "/messages/2",
            Value::Null,
            400,
            "did not have response messages: abcDEF123",
        ),
        (
            Gpt,
            "/messages/1",
            Value::Null,
            400,
            "must be a response to a preceeding message",
        ),
        (
            Gpt,
            "/messages/2/tool_call_id",
            json!("other"),
            400,
            "must be a response to a preceeding message",
        ),
        (
            Responses,
            "/seed",
            json!(0),
            400,
            "Unknown parameter: 'seed'.",
        ),
        (
            Responses,
            "/temperature",
            json!(0.7),
            400,
            "Unsupported parameter: 'temperature'",
        ),
        (
            Responses,
            "/input/1/status",
            json!("completed"),
            400,
            "Unknown parameter: 'input[1].status'",
        ),
        (
            Responses,
            "/input/1/encrypted_content",
            Value::Null,
            404,
            "Items are not persisted when `store` is set to false",
        ),
        (
            Responses,
            "/input/1/encrypted_content",
            json!("other"),
            400,
            "invalid_encrypted_content",
        ),
        (
            Responses,
            "/input/1/id",
            json!("x_1"),
            400,
            "Expected an ID that begins with 'rs'",
        ),
        (
            Responses,
            "/input/3/id",
            json!("call_1"),
            400,
            "Expected an ID that begins with 'fc'",
        ),
        (
            Responses,
            "/input/0/phase",
            json!("commentary"),
            400,
            "Unknown parameter: 'input[0].phase'",
        ),
        (
            Responses,
            "/input/2/phase",
            json!("thought"),
            400,
            "Supported values are: 'commentary' and 'final_answer'",
        ),
        (
            Responses,
            "/input/4",
            Value::Null,
            400,
            "No tool output found for function call call_1.",
        ),
        (
            Responses,
            "/input/3",
            Value::Null,
            400,
            "No tool call found for function call output with call_id call_1.",
        ),
        (
            Responses,
            "/tools/0/parameters",
            json!({"type": "object"}),
            400,
            "object schema missing properties",
        ),
        (
            Responses,
            "/tools/0/name",
            json!("a.b"),
            400,
            "Invalid 'tools[0].name'",
        ),
        (
            Opus,
            "/max_tokens",
            Value::Null,
            400,
            "max_tokens: Field required",
        ),
        (
            Opus,
            "/temperature",
            json!(0.7),
            400,
            "`temperature` is deprecated for this model.",
        ),
        (
            Opus,
            "/top_p",
            json!(0.9),
            400,
            "`top_p` is deprecated for this model.",
        ),
        (
            Opus,
            "/thinking",
            json!({"type": "enabled", "budget_tokens": 2048}),
            400,
            "is not supported for this model",
        ),
        (
            Opus,
            "/seed",
            json!(0),
            400,
            "seed: Extra inputs are not permitted",
        ),
        (
            Opus,
            "/tool_choice/type",
            json!("any"),
            400,
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            Opus,
            "/tools/0/input_schema",
            anything,
            400,
            "input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        (
            Opus,
            "/tools/0/input_schema",
            json!({}),
            400,
            "tools.0.custom.input_schema.type: Field required",
        ),
        (
            Opus,
            "/tools/0/name",
            json!("a.b"),
            400,
            "tools.0.custom.name",
        ),
        (
            Opus,
            "/messages/1/content/1/id",
            json!("functions.echo:0"),
            400,
            "tool_use.id: String should match pattern",
        ),
        (
            Opus,
            "/messages/1/content/0/signature",
            json!("other"),
            400,
            "Invalid `signature` in `thinking` block",
        ),
        (
            Opus,
            "/messages/1/content/0/thinking",
            json!("Hm!"),
            400,
            "Invalid `signature` in `thinking` block",
        ),
        (
            Opus,
            "/messages/1/content/0",
            json!({"type": "text", "text": ""}),
            400,
            "text content blocks must be non-empty",
        ),
        (
            Opus,
            "/messages/2",
            Value::Null,
            400,
            "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
        ),
        (
            Opus,
            "/messages/2/content/0/tool_use_id",
            json!("x"),
            400,
            "without `tool_result` blocks immediately after",
        ),
        (
            Opus,
            "/messages/1/content/1",
            json!({"type": "text", "text": "x"}),
            400,
            "unexpected `tool_use_id` found",
        ),
        (
            Opus,
            "/messages/-",
            json!({"role": "assistant", "content": "x"}),
            400,
            "does not support assistant message prefill",
        ),
        (
            Opus,
            "/messages/0/role",
            json!("system"),
            400,
            "messages.0.role",
        ),
        (
            Sonnet,
            "/thinking",
            json!({"type": "adaptive"}),
            400,
            "adaptive thinking is not supported on this model",
        ),
        (
            Sonnet,
            "/temperature",
            json!(0.7),
            400,
            "`temperature` may only be set to 1 when thinking is enabled",
        ),
        (
            Sonnet,
            "/max_tokens",
            json!(1024),
            400,
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        ),
        (
            Sonnet,
            "/messages/1/content/0",
            Value::Null,
            400,
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
        (
            Gemini,
            "/seed",
            json!(0),
            400,
            r#"Unknown name \"seed\": Cannot find field."#,
        ),
        (
            Gemini,
            "/tools/0/functionDeclarations/0/parameters/additionalProperties",
            json!(false),
            400,
            "Cannot find field.",
        ),
        (
            Gemini,
            "/tools/0/functionDeclarations/0/parameters/type",
            json!(["object"]),
            400,
            "Proto field is not repeating",
        ),
        (
            Gemini,
            "/tools/0/functionDeclarations/0/name",
            json!("a b"),
            400,
            "Invalid function name.",
        ),
        (
            Gemini,
            "/contents/1/parts/0/thoughtSignature",
            Value::Null,
            400,
            "missing a thought_signature in functionCall parts",
        ),
        (
            Gemini,
            "/contents/1/parts/0/thoughtSignature",
            json!("other"),
            400,
            "Corrupted thought signature.",
        ),
        (
            Gemini,
            "/contents/2",
            Value::Null,
            400,
            "number of function response parts is equal",
        ),
        (
            Gemini,
            "/contents/1",
            Value::Null,
            400,
            "number of function response parts is equal",
        ),
        (
            Gemini,
            "/contents/0",
            Value::Null,
            400,
            "function call turn comes immediately after a user turn",
        ),
        (
            Gemini,
            "/contents/0/role",
            json!("system"),
            400,
            "Please use a valid role: user, model.",
        ),
        (
            Gemini,
            "/contents/0/parts",
            json!([]),
            400,
            "contents.parts must not be empty",
        ),
        (
            GeminiChat,
            "/messages/1/tool_calls/0/extra_content",
            Value::Null,
            400,
            "missing a thought_signature",
        ),
        (
            Mistral,
            "/seed",
            json!(0),
            422,
            r#""loc":["body","seed"],"msg":"Extra inputs are not permitted""#,
        ),
        (
            Mistral,
            "/stream_options",
            json!({}),
            422,
            "extra_forbidden",
        ),
        (
            Mistral,
            "/messages/1/reasoning_content",
            json!("x"),
            422,
            r#"["body","messages",1,"assistant","reasoning_content"]"#,
        ),
        (
            Mistral,
            "/messages/1/tool_calls/0/extra_content",
            json!({}),
            422,
            r#""tool_calls",0,"extra_content"]"#,
        ),
        (
            Mistral,
            "/messages/1/tool_calls/0/id",
            json!("call_1"),
            400,
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        ),
        (
            Mistral,
            "/messages/-",
            user.clone(),
            400,
            "Unexpected role 'user' after role 'tool'",
        ),
        (
            Mistral,
            "/messages/2",
            Value::Null,
            400,
            "Not the same number of function calls and responses",
        ),
        (
            Mistral,
            "/messages/-",
            json!({"role": "assistant", "content": "x"}),
            400,
            "Expected last role User or Tool",
        ),
        (
            DeepSeek,
            "/messages/1/reasoning_content",
            Value::Null,
            400,
            "must be passed back to the API.",
        ),
        (
            DeepSeek,
            "/messages/-",
            json!({"role": "assistant", "content": "", "reasoning_content": "x"}),
            400,
            "content or tool_calls must be set",
        ),
        (
            DeepSeek,
            "/tool_choice",
            json!("required"),
            400,
            "Thinking mode does not support this tool_choice",
        ),
        (
            DeepSeek,
            "/messages/2",
            Value::Null,
            400,
            "insufficient tool messages following tool_calls message",
        ),
        (
            Kimi,
            "/messages/1/reasoning_content",
            Value::Null,
            400,
            "is missing in assistant tool call message at index 1",
        ),
        (
            Kimi,
            "/temperature",
            json!(0.7),
            400,
            "invalid temperature: only 1 is allowed for this model",
        ),
        (
            Kimi,
            "/tool_choice",
            json!("required"),
            400,
            "tool_choice 'required' is incompatible with thinking enabled",
        ),
        (
            Kimi,
            "/messages/-",
            json!({"role": "assistant", "content": ""}),
            400,
            "the message at position 3 with role 'assistant' must not be empty",
        ),
    ];
    for (provider, pointer, value, status, words) in cases {
        let refusal = judged(provider, |body| put(body, pointer, value.clone()))
            .expect_err(&format!("{provider:?} {pointer} {value}"));
        assert_eq!(
            refusal.status, status,
            "{provider:?} {pointer}: {}",
            refusal.body
        );
        assert!(
            refusal.body.contains(words),
            "{provider:?} {pointer}: {}",
            refusal.body
        );
    }
}

#[test]
fn exceptions_of_the_rules_are_admitted() {
    use Provider::{DeepSeek, Gemini, GeminiChat, Gpt, Kimi, Mistral, Opus};
    let sentinel = || json!("skip_thought_signature_validator");
    let cases = [
        (Gpt, "/temperature", json!(1)),
        (
            Gpt,
            "/messages/-",
            json!({"role": "user", "content": "And?"}),
        ),
        (
            Opus,
            "/messages/1/content/0",
            json!({"type": "text", "text": "No thinking."}),
        ),
        (Gemini, "/contents/1/parts/0/thoughtSignature", sentinel()),
        (
            GeminiChat,
            "/messages/1/tool_calls/0/extra_content/google/thought_signature",
            sentinel(),
        ),
        (
            Gemini,
            "/system_instruction",
            json!({"parts": [{"text": "Use tools."}]}),
        ),
        (Mistral, "/tool_choice", json!("any")),
        (DeepSeek, "/messages/1/reasoning_content", json!("")),
        (DeepSeek, "/temperature", json!(0.7)),
        (Kimi, "/messages/1/reasoning_content", json!("")),
        (Kimi, "/seed", json!(1)),
    ];
    for (provider, pointer, value) in cases {
        let judged = judged(provider, |body| put(body, pointer, value));
        assert_eq!(judged, Ok(()), "{provider:?} {pointer}");
    }
    let without_thinking = |body: &mut Value| {
        body["thinking"] = json!({"type": "disabled"});
        body["tool_choice"] = json!("required");
        put(body, "/messages/1/reasoning_content", Value::Null);
    };
    for provider in [DeepSeek, Kimi] {
        assert_eq!(judged(provider, without_thinking), Ok(()), "{provider:?}");
    }
}
