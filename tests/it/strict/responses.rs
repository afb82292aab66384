//! OpenAI's responses: the rules of a model that reasons and marks its messages with a phase, without stored items.

use serde_json::{Value, json};

use super::chat::{halves, is_name, keys, list, openai, reasoning, text};
use super::script::Said;
use super::server::{Answer, Asked, Given};

/// Members of a request, <https://developers.openai.com/api/reference/resources/responses/methods/create>.
const BODY: &str = "background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model \
    parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier \
    service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user";

fn unknown(value: &Value, known: &str, place: &str) -> Result<(), Answer> {
    let Some(key) = keys(value).find(|key| !known.split_whitespace().any(|known| known == *key))
    else {
        return Ok(());
    };
    let param = format!("{place}{key}");
    // https://github.com/1jehuang/jcode/issues/1028
    Err(openai(
        format!("Unknown parameter: '{param}'."),
        Some(&param),
        Some("unknown_parameter"),
    ))
}

pub fn judge(path: &str, body: &Value, given: &Given) -> Result<Asked, Answer> {
    if path != "/v1/responses" {
        return Err(Answer::json(
            404,
            &json!({"error": {"message": format!("Invalid URL (POST {path})")}}),
        ));
    }
    unknown(body, BODY, "")?;
    // https://github.com/brainlid/langchain/pull/428; temperature as in chat completions.
    for key in ["temperature", "top_p"] {
        if !body[key].is_null() {
            let message =
                format!("Unsupported parameter: '{key}' is not supported with this model.");
            return Err(openai(message, Some(key), None));
        }
    }
    for (at, tool) in list(body, "tools").iter().enumerate() {
        tool_rules(at, tool)?;
    }
    let input = list(body, "input");
    for (at, item) in input.iter().enumerate() {
        item_rules(at, item, body, given)?;
    }
    reasoning_is_followed(input)?;
    calls_are_answered(input)?;
    let of_model: Vec<&[Value]> = rounds(input);
    Ok(Asked {
        streamed: body["stream"] == true,
        tools: list(body, "tools")
            .iter()
            .map(|tool| text(tool, "name").to_owned())
            .collect(),
        rounds: of_model.len(),
        calls: input
            .iter()
            .filter(|item| item["type"] == "function_call")
            .count(),
        // Without this a response has no encrypted content, and the next request cannot give its reasoning back.
        reasons: list(body, "include").contains(&json!("reasoning.encrypted_content")),
        lost: of_model
            .iter()
            .filter_map(|items| lost(items, given))
            .collect(),
    })
}

/// True if the item is one of the model.
fn is_of_model(item: &Value) -> bool {
    ["function_call", "reasoning"].contains(&text(item, "type")) || item["role"] == "assistant"
}

/// The items of each response with calls.
fn rounds(input: &[Value]) -> Vec<&[Value]> {
    input
        .split(|item| !is_of_model(item))
        .filter(|items| items.iter().any(|item| item["type"] == "function_call"))
        .collect()
}

/// A response that the server gave and that the request changed: its encrypted reasoning or the phase of its text.
fn lost(items: &[Value], given: &Given) -> Option<String> {
    let first = items.iter().find(|item| item["type"] == "function_call")?;
    let first = text(first, "call_id");
    let own = list(given.messages.get(first)?, "output");
    let state = |items: &[Value]| -> Vec<Value> {
        let of_item =
            |item: &Value| json!([item["encrypted_content"], item["phase"], item["call_id"]]);
        // Reasoning that came without its encrypted content cannot go back.
        let has_state = |state: &Value| *state != json!([null, null, null]);
        items.iter().map(of_item).filter(has_state).collect()
    };
    (state(own) != state(items)).then(|| format!("items of {first}: gave {own:?}, got {items:?}"))
}

fn tool_rules(at: usize, tool: &Value) -> Result<(), Answer> {
    let (name, schema) = (text(tool, "name"), &tool["parameters"]);
    unknown(
        tool,
        "defer_loading description name parameters strict type",
        &format!("tools[{at}]."),
    )?;
    if !is_name(name, "_-", 64) {
        let param = format!("tools[{at}].name");
        let message = format!(
            "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(openai(message, Some(&param), Some("invalid_value")));
    }
    let invalid = |what: &str| {
        let param = format!("tools[{at}].parameters");
        Err(openai(
            format!("Invalid schema for function '{name}': {what}"),
            Some(&param),
            Some("invalid_function_parameters"),
        ))
    };
    if schema["type"] != "object"
        || ["oneOf", "anyOf", "allOf", "enum", "not"]
            .iter()
            .any(|key| !schema[*key].is_null())
    {
        return invalid(
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
        );
    }
    if !schema["properties"].is_object() {
        return invalid("In context=(), object schema missing properties.");
    }
    Ok(())
}

fn item_rules(at: usize, item: &Value, body: &Value, given: &Given) -> Result<(), Answer> {
    let place = format!("input[{at}].");
    let kind = match text(item, "type") {
        "" => "message",
        kind => kind,
    };
    match kind {
        "message" => {
            unknown(item, "content id phase role status type", &place)?;
            // https://github.com/UKGovernmentBEIS/inspect_ai/issues/3639: of the model's messages only, one of two words.
            let phase = &item["phase"];
            if !phase.is_null() && item["role"] != "assistant" {
                return Err(openai(
                    format!("Unknown parameter: '{place}phase'."),
                    Some(&format!("{place}phase")),
                    Some("unknown_parameter"),
                ));
            }
            if !phase.is_null() && !["commentary", "final_answer"].contains(&text(item, "phase")) {
                let message = format!(
                    "Invalid value: {phase}. Supported values are: 'commentary' and 'final_answer'."
                );
                return Err(openai(
                    message,
                    Some(&format!("{place}phase")),
                    Some("invalid_value"),
                ));
            }
        }
        "function_call" => {
            unknown(
                item,
                "arguments call_id id name namespace status type",
                &place,
            )?;
            id_begins(item, "fc", &place)?;
            if !is_name(text(item, "name"), "_-", 64) {
                let param = format!("{place}name");
                let message = format!(
                    "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
                );
                return Err(openai(message, Some(&param), Some("invalid_value")));
            }
            if text(item, "call_id").len() > 64 {
                let message = format!(
                    "Invalid '{place}call_id': string too long. Expected a string with maximum length 64, but instead got a string with length {} instead.",
                    text(item, "call_id").len()
                );
                return Err(openai(
                    message,
                    Some(&format!("{place}call_id")),
                    Some("string_above_max_length"),
                ));
            }
        }
        "function_call_output" => unknown(item, "call_id id output status type", &place)?,
        "reasoning" => {
            unknown(item, "content encrypted_content id summary type", &place)?;
            id_begins(item, "rs", &place)?;
            // https://github.com/vercel/ai/issues/7543, https://github.com/openai/openai-agents-js/issues/546
            if body["store"] == false && !item["encrypted_content"].is_string() {
                let message = format!(
                    "Item with id '{}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
                    text(item, "id")
                );
                let error = openai(message, Some("input"), None);
                return Err(Answer {
                    status: 404,
                    ..error
                });
            }
            // https://github.com/openai/codex/issues/8119
            let encrypted = text(item, "encrypted_content");
            if !given.signatures.contains_key(encrypted) {
                let message = format!(
                    "The encrypted content {encrypted} could not be verified. Reason: Encrypted content could not be decrypted or parsed."
                );
                return Err(openai(message, None, Some("invalid_encrypted_content")));
            }
        }
        _ => {
            let message = format!(
                "Invalid value: '{kind}'. Supported values are: 'function_call', 'function_call_output', 'message', and 'reasoning'."
            );
            return Err(openai(
                message,
                Some(&format!("input[{at}]")),
                Some("invalid_value"),
            ));
        }
    }
    Ok(())
}

/// https://github.com/Alishahryar1/free-claude-code/issues/1826
fn id_begins(item: &Value, start: &str, place: &str) -> Result<(), Answer> {
    let id = &item["id"];
    if id.is_null() || text(item, "id").starts_with(start) {
        return Ok(());
    }
    let message = format!(
        "Invalid '{place}id': '{}'. Expected an ID that begins with '{start}'.",
        text(item, "id")
    );
    Err(openai(
        message,
        Some(&format!("{place}id")),
        Some("invalid_value"),
    ))
}

/// https://github.com/continuedev/continue/issues/8933
fn reasoning_is_followed(input: &[Value]) -> Result<(), Answer> {
    for (at, item) in input
        .iter()
        .enumerate()
        .filter(|(_, item)| item["type"] == "reasoning")
    {
        if !input.get(at + 1).is_some_and(is_of_model) {
            let message = format!(
                "Item '{}' of type 'reasoning' was provided without its required following item.",
                text(item, "id")
            );
            return Err(openai(message, Some("input"), None));
        }
    }
    Ok(())
}

/// https://github.com/openai/openai-agents-python/issues/673, https://github.com/continuedev/continue/issues/10092
fn calls_are_answered(input: &[Value]) -> Result<(), Answer> {
    let of = |kind: &str| -> Vec<(usize, &str)> {
        let items = input
            .iter()
            .enumerate()
            .filter(|(_, item)| item["type"] == kind);
        items
            .map(|(at, item)| (at, text(item, "call_id")))
            .collect()
    };
    let (calls, outputs) = (of("function_call"), of("function_call_output"));
    if let Some((_, id)) = calls.iter().find(|(at, id)| {
        !outputs
            .iter()
            .any(|(later, known)| later > at && known == id)
    }) {
        return Err(openai(
            format!("No tool output found for function call {id}."),
            Some("input"),
            None,
        ));
    }
    if let Some((_, id)) = outputs.iter().find(|(at, id)| {
        !calls
            .iter()
            .any(|(before, known)| before < at && known == id)
    }) {
        return Err(openai(
            format!("No tool call found for function call output with call_id {id}."),
            Some("input"),
            None,
        ));
    }
    Ok(())
}

pub fn said(said: &Said, asked: &Asked, given: &mut Given) -> Answer {
    let mut output = Vec::new();
    let id =
        |kind: &str, given: &Given, at: usize| format!("{kind}_{}", given.id(48, asked.rounds, at));
    let mut item = json!({"id": id("rs", given, 90), "type": "reasoning", "summary": []});
    if asked.reasons {
        item["encrypted_content"] = json!(given.sign(&reasoning(asked.rounds)));
    }
    output.push(item);
    let (words, calls) = match said {
        Said::Message(words, calls) => {
            let written =
                |(name, arguments): &(&'static str, Value)| (*name, arguments.to_string());
            (*words, calls.iter().map(written).collect())
        }
        Said::Malformed(name) => ("", vec![(*name, r#"{"text": "one"#.to_owned())]),
        Said::Fault(_) => ("", Vec::new()),
    };
    if !words.is_empty() {
        let phase = if calls.is_empty() {
            "final_answer"
        } else {
            "commentary"
        };
        let part = json!({"type": "output_text", "text": words, "annotations": [], "logprobs": []});
        output.push(json!({"id": id("msg", given, 91), "type": "message", "role": "assistant", "status": "completed",
            "phase": phase, "content": [part]}));
    }
    for (at, (name, arguments)) in calls.iter().enumerate() {
        output.push(json!({"id": id("fc", given, at), "type": "function_call", "status": "completed",
            "call_id": format!("call_{}", given.id(24, asked.rounds, at)), "name": asked.tool(name), "arguments": arguments}));
    }
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 8}});
    let response = json!({"id": "resp_strict", "object": "response", "created_at": 1, "status": "completed", "error": null,
        "incomplete_details": null, "model": "gpt-5.4", "output": output, "usage": usage});
    if let Some(call) = output.iter().find(|item| item["type"] == "function_call") {
        given
            .messages
            .insert(text(call, "call_id").to_owned(), response.clone());
    }
    if !asked.streamed {
        return Answer::json(200, &response);
    }
    let mut events = Vec::new();
    let mut event = |mut value: Value| {
        value["sequence_number"] = json!(events.len());
        events.push((text(&value, "type").to_owned(), value.to_string()));
    };
    let mut begun = response.clone();
    (begun["status"], begun["output"], begun["usage"]) =
        (json!("in_progress"), json!([]), Value::Null);
    event(json!({"type": "response.created", "response": begun}));
    event(json!({"type": "response.in_progress", "response": begun}));
    for (at, item) in output.iter().enumerate() {
        let mut start = item.clone();
        start["status"] = json!("in_progress");
        let place = |kind: &str, more: Value| {
            let mut value = json!({"type": kind, "item_id": item["id"], "output_index": at});
            value
                .as_object_mut()
                .into_iter()
                .for_each(|value| value.extend(more.as_object().cloned().unwrap_or_default()));
            value
        };
        match text(item, "type") {
            "message" => {
                let part = &item["content"][0];
                let words = text(part, "text");
                start["content"] = json!([]);
                event(
                    json!({"type": "response.output_item.added", "output_index": at, "item": start}),
                );
                let mut empty = part.clone();
                empty["text"] = json!("");
                event(place(
                    "response.content_part.added",
                    json!({"content_index": 0, "part": empty}),
                ));
                for piece in halves(words) {
                    event(place(
                        "response.output_text.delta",
                        json!({"content_index": 0, "delta": piece}),
                    ));
                }
                event(place(
                    "response.output_text.done",
                    json!({"content_index": 0, "text": words}),
                ));
                event(place(
                    "response.content_part.done",
                    json!({"content_index": 0, "part": part}),
                ));
            }
            "function_call" => {
                let arguments = text(item, "arguments");
                start["arguments"] = json!("");
                event(
                    json!({"type": "response.output_item.added", "output_index": at, "item": start}),
                );
                for piece in halves(arguments) {
                    event(place(
                        "response.function_call_arguments.delta",
                        json!({"delta": piece}),
                    ));
                }
                event(place(
                    "response.function_call_arguments.done",
                    json!({"arguments": arguments}),
                ));
            }
            _ => event(
                json!({"type": "response.output_item.added", "output_index": at, "item": start}),
            ),
        }
        event(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    event(json!({"type": "response.completed", "response": response}));
    Answer::events(
        events
            .iter()
            .map(|(name, data)| (Some(name.as_str()), data.clone())),
    )
}
