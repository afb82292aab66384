//! Chat completions: the rules of OpenAI's reasoning models, Mistral, DeepSeek, Kimi, and Gemini 3 behind Google's form of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::provider::Provider;
use super::script::Said;
use super::server::{Answer, Asked, Given};

/// Members of a request, <https://developers.openai.com/api/reference/resources/chat/subresources/completions/methods/create>.
const GPT_BODY: &str = "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens \
    messages metadata modalities model n parallel_tool_calls prediction presence_penalty prompt_cache_key \
    prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream \
    stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options";

/// Members of a request, <https://docs.mistral.ai/api/endpoint/chat>: neither `seed` nor `stream_options` nor `max_completion_tokens`.
const MISTRAL_BODY: &str = "frequency_penalty guardrails max_tokens messages metadata model n parallel_tool_calls prediction \
    presence_penalty prompt_cache_key prompt_mode random_seed reasoning_effort response_format safe_prompt stop stream \
    temperature tool_choice tools top_p";

/// The texts that <https://ai.google.dev/gemini-api/docs/thought-signatures> gives for calls of other models, and their base64, which
/// litellm sends: the member holds bytes.
pub const SENTINELS: [&str; 4] = [
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
];

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub fn keys(value: &Value) -> impl Iterator<Item = &str> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(key, _)| key.as_str())
}

/// True if `value` has only these letters, digits, and `more`, and a length within `most`.
pub fn is_name(value: &str, more: &str, most: usize) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    !value.is_empty() && value.len() <= most && value.chars().all(is_letter)
}

fn named<'a>(words: &'a str, word: &str) -> Option<&'a str> {
    words.split_whitespace().find(|known| *known == word)
}

/// An error of OpenAI.
pub fn openai(message: impl Into<String>, param: Option<&str>, code: Option<&str>) -> Answer {
    let error = json!({"message": message.into(), "type": "invalid_request_error", "param": param, "code": code});
    Answer::json(400, &json!({"error": error}))
}

/// An error of Mistral after its schema has admitted a request, with type and code.
fn mistral(message: &str, kind: &str, code: &str) -> Answer {
    let body = json!({"object": "error", "message": message, "type": kind, "param": null, "code": code, "raw_status_code": 400});
    Answer::json(400, &body)
}

fn deepseek(message: &str) -> Answer {
    let error = json!({"message": message, "type": "invalid_request_error", "param": null, "code": "invalid_request_error"});
    Answer::json(400, &json!({"error": error}))
}

fn kimi(message: &str) -> Answer {
    Answer::json(
        400,
        &json!({"error": {"message": message, "type": "invalid_request_error"}}),
    )
}

/// An error of Google; its form of chat completions wraps it in a list.
fn google(message: &str) -> Answer {
    let error = json!({"code": 400, "message": message, "status": "INVALID_ARGUMENT"});
    Answer::json(400, &json!([{"error": error}]))
}

/// An error in the words of the provider that has no type of its own for it.
fn refused(provider: Provider, message: &str, param: &str) -> Answer {
    match provider {
        Provider::Mistral => mistral(message, "invalid_request_message_order", "3230"),
        Provider::DeepSeek => deepseek(message),
        Provider::Kimi => kimi(message),
        Provider::GeminiChat => google(message),
        _ => openai(message, Some(param), None),
    }
}

pub fn judge(provider: Provider, path: &str, body: &Value, given: &Given) -> Result<Asked, Answer> {
    if path != format!("{}/chat/completions", provider.base()) {
        return Err(Answer::json(
            404,
            &json!({"error": {"message": format!("Invalid URL (POST {path})")}}),
        ));
    }
    if provider == Provider::Mistral {
        schema_of_mistral(body)?;
    }
    parameters(provider, body)?;
    tools(provider, body)?;
    let messages = list(body, "messages");
    each_message(provider, messages)?;
    pairs(provider, messages)?;
    match provider {
        Provider::Mistral => order_of_mistral(messages)?,
        Provider::DeepSeek => reasoning_of_deepseek(body, messages)?,
        Provider::Kimi => reasoning_of_kimi(body, messages)?,
        Provider::GeminiChat => signatures(messages, given)?,
        _ => {}
    }
    let called = messages
        .iter()
        .filter(|m| !list(m, "tool_calls").is_empty());
    let calls = called.clone().map(|m| list(m, "tool_calls").len());
    Ok(Asked {
        streamed: body["stream"] == true,
        tools: list(body, "tools")
            .iter()
            .map(|tool| text(&tool["function"], "name").to_owned())
            .collect(),
        rounds: called.clone().count(),
        calls: calls.sum(),
        reasons: thinks(provider, body),
        lost: called.filter_map(|message| lost(message, given)).collect(),
    })
}

/// DeepSeek and Kimi reason unless a request says otherwise.
fn thinks(provider: Provider, body: &Value) -> bool {
    matches!(provider, Provider::DeepSeek | Provider::Kimi)
        && body["thinking"]["type"] != "disabled"
}

/// State of a message that the server gave and that the request changed: members other than the protocol's own.
fn lost(message: &Value, given: &Given) -> Option<String> {
    let first = text(&list(message, "tool_calls")[0], "id");
    let own = given.messages.get(first)?;
    let changed = |one: &Value, other: &Value, key: &str| {
        (one[key] != other[key])
            .then(|| format!("{key} of {first}: gave {}, got {}", one[key], other[key]))
    };
    let of_calls = list(own, "tool_calls")
        .iter()
        .zip(list(message, "tool_calls"));
    changed(own, message, "reasoning_content").or_else(|| {
        of_calls.into_iter().find_map(|(own, call)| {
            changed(own, call, "extra_content").or_else(|| changed(own, call, "id"))
        })
    })
}

fn parameters(provider: Provider, body: &Value) -> Result<(), Answer> {
    match provider {
        Provider::Gpt => {
            // https://github.com/nashsu/llm_wiki/issues/336
            if let Some(key) = keys(body).find(|key| named(GPT_BODY, key).is_none()) {
                return Err(openai(
                    format!("Unrecognized request argument supplied: {key}"),
                    None,
                    None,
                ));
            }
            // https://github.com/griptape-ai/ComfyUI-Griptape/issues/312
            if !body["max_tokens"].is_null() {
                let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
                return Err(openai(
                    message,
                    Some("max_tokens"),
                    Some("unsupported_parameter"),
                ));
            }
            // https://github.com/diffbot/code-gpt-docs/issues/445
            let given = &body["temperature"];
            if !given.is_null() && *given != 1.0 {
                let message = format!(
                    "Unsupported value: 'temperature' does not support {given} with this model. Only the default (1) value is supported."
                );
                return Err(openai(
                    message,
                    Some("temperature"),
                    Some("unsupported_value"),
                ));
            }
            // https://github.com/BittnerPierre/AI-Agent-Casebook/issues/133, https://github.com/HIllya51/LunaTranslator/issues/1842, https://github.com/nextai-translator/nextai-translator/issues/1781
            let unsupported = [
                "frequency_penalty",
                "logit_bias",
                "logprobs",
                "presence_penalty",
                "stop",
                "top_logprobs",
                "top_p",
            ];
            if let Some(key) = unsupported.into_iter().find(|key| !body[*key].is_null()) {
                let message =
                    format!("Unsupported parameter: '{key}' is not supported with this model.");
                return Err(openai(message, Some(key), Some("unsupported_parameter")));
            }
            let effort = text(body, "reasoning_effort");
            if !effort.is_empty() && named("minimal low medium high", effort).is_none() {
                let message = format!(
                    "Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'."
                );
                return Err(openai(
                    message,
                    Some("reasoning_effort"),
                    Some("unsupported_value"),
                ));
            }
            // https://developers.openai.com/api/reference/resources/chat: both need tools.
            for key in ["tool_choice", "parallel_tool_calls"] {
                if !body[key].is_null() && list(body, "tools").is_empty() {
                    let message = format!(
                        "Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
                    );
                    return Err(openai(message, Some(key), None));
                }
            }
            if !body["stream_options"].is_null() && body["stream"] != true {
                let message =
                    "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
                return Err(openai(message, Some("stream_options"), None));
            }
        }
        // https://github.com/deepseek-ai/DeepSeek-V3/issues/1376, https://github.com/osaurus-ai/osaurus/pull/1940
        Provider::DeepSeek
            if thinks(provider, body)
                && !matches!(body["tool_choice"].as_str(), Some("auto" | "none"))
                && !body["tool_choice"].is_null() =>
        {
            return Err(deepseek("Thinking mode does not support this tool_choice"));
        }
        Provider::Kimi => {
            // https://github.com/BerriAI/litellm/pull/29687, https://github.com/google-gemini/gemini-cli/pull/18977
            for (key, only) in [("temperature", 1.0), ("top_p", 0.95)] {
                if !body[key].is_null() && body[key] != only {
                    return Err(kimi(&format!(
                        "invalid {key}: only {only} is allowed for this model"
                    )));
                }
            }
            // https://github.com/can1357/oh-my-pi/issues/1077, https://github.com/bestruirui/octopus/pull/251
            let forced = match &body["tool_choice"] {
                Value::String(word) if word == "required" => Some("required"),
                Value::Object(_) => Some("specified"),
                _ => None,
            };
            if let Some(word) = forced.filter(|_| thinks(provider, body)) {
                return Err(kimi(&format!(
                    "tool_choice '{word}' is incompatible with thinking enabled"
                )));
            }
        }
        _ => {}
    }
    Ok(())
}

fn tools(provider: Provider, body: &Value) -> Result<(), Answer> {
    for (at, tool) in list(body, "tools").iter().enumerate() {
        let function = &tool["function"];
        let (name, schema) = (text(function, "name"), &function["parameters"]);
        let place = format!("tools[{at}].function.name");
        name_rule(provider, name, &place)?;
        if provider != Provider::Gpt || schema.is_null() {
            continue;
        }
        let invalid = |what: &str| {
            let message = format!("Invalid schema for function '{name}': {what}");
            let param = format!("tools[{at}].function.parameters");
            Err(openai(
                message,
                Some(&param),
                Some("invalid_function_parameters"),
            ))
        };
        // https://github.com/nspady/google-calendar-mcp/issues/39
        let combined = ["oneOf", "anyOf", "allOf", "enum", "not"];
        if schema["type"] != "object" || combined.iter().any(|key| !schema[*key].is_null()) {
            return invalid(
                "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
            );
        }
        // https://github.com/spring-projects/spring-ai/issues/4776
        if !schema["properties"].is_object() {
            return invalid("In context=(), object schema missing properties.");
        }
    }
    Ok(())
}

/// The rule for names of tools, in their definition and in calls.
fn name_rule(provider: Provider, name: &str, place: &str) -> Result<(), Answer> {
    if is_name(name, "_-", 64) || provider == Provider::GeminiChat && is_name(name, "_-.:", 64) {
        return Ok(());
    }
    Err(match provider {
        // https://github.com/mistralai/mistral-common, protocol/instruct/validator.py
        Provider::Mistral => mistral(
            &format!(
                "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64."
            ),
            "invalid_function_call",
            "3280",
        ),
        Provider::Kimi => kimi(
            "Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes",
        ),
        Provider::GeminiChat => google(
            "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        ),
        _ if name.len() > 64 => openai(
            format!(
                "Invalid '{place}': string too long. Expected a string with maximum length 64, but instead got a string with length {} instead.",
                name.len()
            ),
            Some(place),
            Some("string_above_max_length"),
        ),
        // https://github.com/hackers365/xiaozhi-esp32-server-golang/issues/268
        _ => openai(
            format!(
                "Invalid '{place}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            ),
            Some(place),
            Some("invalid_value"),
        ),
    })
}

fn each_message(provider: Provider, messages: &[Value]) -> Result<(), Answer> {
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        let calls = list(message, "tool_calls");
        let empty = message["content"].as_str().is_none_or(str::is_empty)
            && message["content"].as_array().is_none_or(Vec::is_empty);
        if role == "assistant" && calls.is_empty() && empty {
            let message = match provider {
                // https://github.com/Gitlawb/openclaude/issues/878
                Provider::DeepSeek => {
                    "Invalid assistant message: content or tool_calls must be set".to_owned()
                }
                // https://github.com/mistralai/mistral-common, protocol/instruct/validator.py
                Provider::Mistral => {
                    "Assistant message must have either content or tool_calls.".to_owned()
                }
                // https://github.com/labring/FastGPT/issues/3575
                Provider::Kimi => format!(
                    "Invalid request: the message at position {at} with role 'assistant' must not be empty"
                ),
                _ if message["content"].is_null() => {
                    "Invalid value for 'content': expected a string, got null.".to_owned()
                }
                _ => continue,
            };
            return Err(refused(
                provider,
                &message,
                &format!("messages.[{at}].content"),
            ));
        }
        for (place, call) in calls.iter().enumerate() {
            let (id, name) = (text(call, "id"), text(&call["function"], "name"));
            name_rule(
                provider,
                name,
                &format!("messages[{at}].tool_calls[{place}].function.name"),
            )?;
            // The schema of the protocol gives the ids of calls 40 characters.
            if provider == Provider::Gpt && id.len() > 40 {
                let place = format!("messages[{at}].tool_calls[{place}].id");
                let message = format!(
                    "Invalid '{place}': string too long. Expected a string with maximum length 40, but instead got a string with length {} instead.",
                    id.len()
                );
                return Err(openai(
                    message,
                    Some(&place),
                    Some("string_above_max_length"),
                ));
            }
            // https://github.com/nearai/ironclaw/issues/1241
            if provider == Provider::Mistral && (id.len() != 9 || !is_name(id, "", 9)) {
                let message =
                    format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.");
                return Err(mistral(&message, "invalid_function_call", "3280"));
            }
        }
    }
    Ok(())
}

/// Each call has an answer directly after its message, and each answer has its call.
fn pairs(provider: Provider, messages: &[Value]) -> Result<(), Answer> {
    let mut open: Vec<String> = Vec::new();
    let unanswered = |open: &[String], at: usize| {
        let message = match provider {
            // https://github.com/mistralai/mistral-common, protocol/instruct/validator.py
            Provider::Mistral => "Not the same number of function calls and responses".to_owned(),
            // https://github.com/smallmain/vscode-unify-chat-provider/issues/248
            Provider::DeepSeek => "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)".to_owned(),
            // https://ai.google.dev/gemini-api/docs/function-calling
            Provider::GeminiChat => "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".to_owned(),
            // https://github.com/aliasrobotics/cai/issues/111; of Kimi https://github.com/dust-tt/srchd/pull/75
            _ => format!("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}", open.join(", ")),
        };
        refused(provider, &message, &format!("messages.[{at}].role"))
    };
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            let Some(found) = open.iter().position(|known| known == id) else {
                let message = match provider {
                    Provider::Kimi => format!("Invalid request: tool_call_id {id} is not found"),
                    Provider::Mistral => "Unexpected tool call id in tool message".to_owned(),
                    // https://github.com/microsoft/promptflow/pull/3130; "preceeding" is theirs.
                    _ => "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.".to_owned(),
                };
                return Err(refused(
                    provider,
                    &message,
                    &format!("messages.[{at}].role"),
                ));
            };
            open.remove(found);
        } else if open.is_empty() {
            open.extend(
                list(message, "tool_calls")
                    .iter()
                    .map(|call| text(call, "id").to_owned()),
            );
        } else {
            return Err(unanswered(&open, at));
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(unanswered(&open, messages.len()))
    }
}

/// Members that the schema does not know, all of them: https://github.com/Gitlawb/openclaude/issues/739.
fn schema_of_mistral(body: &Value) -> Result<(), Answer> {
    let mut details = Vec::new();
    let mut check = |value: &Value, known: &str, loc: &[Value]| {
        for key in keys(value).filter(|key| named(known, key).is_none()) {
            let loc: Vec<Value> = loc.iter().cloned().chain([json!(key)]).collect();
            details.push(json!({"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": value[key]}));
        }
    };
    check(body, MISTRAL_BODY, &[json!("body")]);
    for (at, message) in list(body, "messages").iter().enumerate() {
        let role = text(message, "role");
        // https://github.com/charmbracelet/crush/issues/1590: no reasoning_content; https://github.com/zeroclaw-labs/zeroclaw/issues/2693: nothing in calls.
        let known = match role {
            "assistant" => "role content tool_calls prefix",
            "tool" => "role content tool_call_id name",
            _ => "role content",
        };
        let loc = [json!("body"), json!("messages"), json!(at), json!(role)];
        check(message, known, &loc);
        for (place, call) in list(message, "tool_calls").iter().enumerate() {
            let loc = [&loc[..], &[json!("tool_calls"), json!(place)]].concat();
            check(call, "id type function index", &loc);
            check(
                &call["function"],
                "name arguments",
                &[&loc[..], &[json!("function")]].concat(),
            );
        }
    }
    // https://docs.mistral.ai/capabilities/reasoning/adjustable: high and none.
    let effort = &body["reasoning_effort"];
    if !effort.is_null() && effort != "high" && effort != "none" {
        details.push(json!({"type": "literal_error", "loc": ["body", "reasoning_effort"], "msg": "Input should be 'high' or 'none'", "input": effort}));
    }
    if details.is_empty() {
        Ok(())
    } else {
        Err(Answer::json(422, &json!({"detail": details})))
    }
}

/// https://github.com/BerriAI/litellm/issues/6323 and mistral-common, protocol/instruct/validator.py.
fn order_of_mistral(messages: &[Value]) -> Result<(), Answer> {
    let mut last = "";
    for message in messages {
        let role = text(message, "role");
        let allowed = match last {
            "tool" => ["assistant", "tool"].contains(&role),
            "user" | "system" => role != "tool",
            _ => true,
        };
        if !allowed {
            let message = format!("Unexpected role '{role}' after role '{last}'");
            return Err(mistral(&message, "invalid_request_message_order", "3230"));
        }
        last = role;
    }
    // https://github.com/0xPlaygrounds/rig/pull/1130
    if !["user", "tool"].contains(&last)
        && messages
            .last()
            .is_none_or(|message| message["prefix"] != true)
    {
        let message = format!(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got {last}"
        );
        return Err(mistral(&message, "invalid_request_message_order", "3230"));
    }
    Ok(())
}

/// https://api-docs.deepseek.com/guides/thinking_mode: between two messages of the user with calls, every message of the model comes back
/// with its reasoning. An empty one does (https://github.com/EKKOLearnAI/hermes-studio/pull/2788).
fn reasoning_of_deepseek(body: &Value, messages: &[Value]) -> Result<(), Answer> {
    if !thinks(Provider::DeepSeek, body) {
        return Ok(());
    }
    for turn in messages.split(|message| message["role"] == "user") {
        let called = turn
            .iter()
            .any(|message| !list(message, "tool_calls").is_empty());
        let mut own = turn.iter().filter(|message| message["role"] == "assistant");
        if called && own.any(|message| !message["reasoning_content"].is_string()) {
            return Err(deepseek(
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
            ));
        }
    }
    Ok(())
}

/// https://github.com/labring/FastGPT/issues/6357; an empty one is accepted (https://github.com/Lapis0x0/obsidian-yolo/pull/243).
fn reasoning_of_kimi(body: &Value, messages: &[Value]) -> Result<(), Answer> {
    let missing = |message: &Value| {
        !list(message, "tool_calls").is_empty() && !message["reasoning_content"].is_string()
    };
    match messages
        .iter()
        .position(missing)
        .filter(|_| thinks(Provider::Kimi, body))
    {
        Some(at) => Err(kimi(&format!(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index {at}"
        ))),
        None => Ok(()),
    }
}

/// https://ai.google.dev/gemini-api/docs/thought-signatures: the first call of each step of the current turn.
fn signatures(messages: &[Value], given: &Given) -> Result<(), Answer> {
    let turn = messages
        .iter()
        .rposition(|message| message["role"] == "user")
        .unwrap_or(0);
    for (at, message) in messages.iter().enumerate().skip(turn) {
        let Some(first) = list(message, "tool_calls").first() else {
            continue;
        };
        let signature = text(&first["extra_content"]["google"], "thought_signature");
        signed(signature, text(&first["function"], "name"), at + 1, given)
            .map_err(|message| google(&message))?;
    }
    Ok(())
}

/// Judges the signature of a call at a position of the conversation.
pub fn signed(signature: &str, name: &str, position: usize, given: &Given) -> Result<(), String> {
    // https://github.com/askimo-ai/askimo/issues/543
    if signature.is_empty() {
        return Err(format!(
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
        ));
    }
    let own = given.signatures.contains_key(signature);
    // https://github.com/lbjlaq/Antigravity-Manager/issues/970: after a change of the model.
    if own || SENTINELS.contains(&signature) {
        Ok(())
    } else {
        Err("Corrupted thought signature.".to_owned())
    }
}

/// The model's reasoning in a round.
pub fn reasoning(round: usize) -> String {
    format!("I have weighed round {round}.")
}

pub fn said(provider: Provider, said: &Said, asked: &Asked, given: &mut Given) -> Answer {
    let (message, finish) = message(provider, said, asked, given);
    if let Some(first) = message["tool_calls"][0]["id"].as_str() {
        given.messages.insert(first.to_owned(), message.clone());
    }
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    if !asked.streamed {
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        let body = json!({"id": "chatcmpl-strict", "object": "chat.completion", "created": 1, "model": provider.model(),
            "choices": [choice], "usage": usage});
        return Answer::json(200, &body);
    }
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "chatcmpl-strict", "object": "chat.completion.chunk", "created": 1, "model": provider.model(), "choices": [choice]})
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    for key in ["reasoning_content", "content"] {
        for piece in halves(text(&message, key)) {
            chunks.push(chunk(json!({key: piece}), None));
        }
    }
    for (at, call) in list(&message, "tool_calls").iter().enumerate() {
        let arguments = text(&call["function"], "arguments");
        // Mistral streams whole calls.
        let pieces = if provider == Provider::Mistral {
            [arguments, ""]
        } else {
            halves(arguments)
        };
        let mut first = call.clone();
        first["index"] = json!(at);
        first["function"]["arguments"] = json!(pieces[0]);
        chunks.push(chunk(json!({"tool_calls": [first]}), None));
        if !pieces[1].is_empty() {
            let rest = json!({"index": at, "function": {"arguments": pieces[1]}});
            chunks.push(chunk(json!({"tool_calls": [rest]}), None));
        }
    }
    let mut last = chunk(json!({}), Some(finish));
    last["usage"] = usage;
    chunks.push(last);
    let data = chunks.iter().map(|chunk| (None, chunk.to_string()));
    Answer::events(data.chain([(None, "[DONE]".to_owned())]))
}

/// A text in two pieces.
pub fn halves(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..text.len()).find(|at| text.is_char_boundary(*at));
    text.split_at(middle.unwrap_or(text.len())).into()
}

fn message(
    provider: Provider,
    said: &Said,
    asked: &Asked,
    given: &mut Given,
) -> (Value, &'static str) {
    let (content, calls) = match said {
        Said::Message(content, calls) => {
            let written =
                |(name, arguments): &(&'static str, Value)| (*name, arguments.to_string());
            (*content, calls.iter().map(written).collect())
        }
        Said::Malformed(name) => ("", vec![(*name, r#"{"text": "one"#.to_owned())]),
        Said::Fault(_) => ("", Vec::new()),
    };
    let mut wire = |(at, (name, arguments)): (usize, &(&str, String))| {
        let name = asked.tool(name);
        let id = match provider {
            Provider::Mistral => given.id(9, asked.rounds, at),
            Provider::DeepSeek => format!("call_{at:02}_{}", given.id(24, asked.rounds, at)),
            // https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md: the number counts from the first call on.
            Provider::Kimi => format!("functions.{name}:{}", asked.calls + at),
            Provider::GeminiChat => format!("function-call-{}", given.id(19, asked.rounds, at)),
            _ => format!("call_{}", given.id(24, asked.rounds, at)),
        };
        let mut call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        if matches!(
            provider,
            Provider::Mistral | Provider::DeepSeek | Provider::Kimi
        ) {
            call["index"] = json!(at);
        }
        // https://ai.google.dev/gemini-api/docs/openai: the first of parallel calls is signed.
        if provider == Provider::GeminiChat && at == 0 {
            call["extra_content"] = json!({"google": {"thought_signature": given.sign(&id)}});
        }
        call
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(&mut wire).collect();
    let mut message = json!({"role": "assistant", "content": content});
    match provider {
        Provider::Gpt => {
            message["refusal"] = Value::Null;
            message["annotations"] = json!([]);
            if content.is_empty() {
                message["content"] = Value::Null;
            }
        }
        _ if asked.reasons => message["reasoning_content"] = json!(reasoning(asked.rounds)),
        _ => {}
    }
    let finish = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    (message, finish)
}

/// Ids of calls that occur twice.
pub fn twice<'a>(ids: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    ids.into_iter().find(|id| !seen.insert(*id))
}
