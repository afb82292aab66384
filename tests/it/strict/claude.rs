//! Anthropic's messages: the rules of a model with adaptive thinking (Opus 4.7) and of one with thinking by a budget (Sonnet 4.5).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::chat::{halves, is_name, keys, list, reasoning, text, twice};
use super::provider::Provider;
use super::script::Said;
use super::server::{Answer, Asked, Given};

/// Members of a request, <https://platform.claude.com/docs/en/api/messages/create>.
const BODY: &str = "cache_control container context_management inference_geo max_tokens mcp_servers messages metadata model \
    output_config service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p";

fn refused(message: impl Into<String>) -> Answer {
    let error = json!({"type": "invalid_request_error", "message": message.into()});
    Answer::json(
        400,
        &json!({"type": "error", "error": error, "request_id": "req_011CStrict"}),
    )
}

pub fn judge(provider: Provider, path: &str, body: &Value, given: &Given) -> Result<Asked, Answer> {
    if path != "/v1/messages" {
        let error = json!({"type": "not_found_error", "message": "Not Found"});
        return Err(Answer::json(404, &json!({"type": "error", "error": error})));
    }
    parameters(provider, body)?;
    tools(body)?;
    let messages = merged(body)?;
    blocks(&messages)?;
    calls(&messages)?;
    thinking(body, &messages, given)?;
    // https://platform.claude.com/docs/en/about-claude/models/migration-guide: models since 4.6 continue no message of their own.
    if provider == Provider::Opus && messages.last().is_none_or(|(role, _)| role == "assistant") {
        return Err(refused(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    let of_model = messages.iter().filter(|(role, _)| role == "assistant");
    let called: Vec<_> = of_model
        .filter(|(_, blocks)| blocks.iter().any(is_call))
        .collect();
    Ok(Asked {
        streamed: body["stream"] == true,
        tools: list(body, "tools")
            .iter()
            .map(|tool| text(tool, "name").to_owned())
            .collect(),
        rounds: called.len(),
        calls: called
            .iter()
            .map(|(_, blocks)| blocks.iter().filter(|block| is_call(block)).count())
            .sum(),
        reasons: thinks(body),
        lost: called
            .iter()
            .filter_map(|(_, blocks)| lost(blocks, given))
            .collect(),
    })
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn thinks(body: &Value) -> bool {
    ["adaptive", "enabled"].contains(&text(&body["thinking"], "type"))
}

/// A message that the server gave and that the request changed: its thinking is not the same, or not in the same place.
fn lost(blocks: &[Value], given: &Given) -> Option<String> {
    let first = text(blocks.iter().find(|block| is_call(block))?, "id");
    let own = list(given.messages.get(first)?, "content");
    let plain = |blocks: &[Value]| -> Vec<Value> {
        let without_mark = |block: &Value| {
            let mut block = block.clone();
            block
                .as_object_mut()
                .map(|block| block.remove("cache_control"));
            block
        };
        blocks.iter().map(without_mark).collect()
    };
    (plain(own) != plain(blocks))
        .then(|| format!("message of {first}: gave {own:?}, got {blocks:?}"))
}

fn parameters(provider: Provider, body: &Value) -> Result<(), Answer> {
    if let Some(key) = keys(body).find(|key| !BODY.split_whitespace().any(|known| known == *key)) {
        return Err(refused(format!("{key}: Extra inputs are not permitted")));
    }
    let Some(most) = body["max_tokens"].as_u64() else {
        return Err(refused("max_tokens: Field required"));
    };
    let kind = text(&body["thinking"], "type");
    let budget = &body["thinking"]["budget_tokens"];
    if provider == Provider::Opus {
        // https://github.com/UKGovernmentBEIS/inspect_ai/issues/3721
        if let Some(key) = ["temperature", "top_p", "top_k"]
            .into_iter()
            .find(|key| !body[*key].is_null())
        {
            return Err(refused(format!("`{key}` is deprecated for this model.")));
        }
        // https://github.com/docker/docker-agent/issues/3093
        if kind == "enabled" {
            return Err(refused(
                "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
            ));
        }
        if !budget.is_null() {
            return Err(refused(format!(
                "thinking.{kind}.budget_tokens: Extra inputs are not permitted"
            )));
        }
    } else {
        // https://github.com/skydiscover-ai/skydiscover/issues/15, https://github.com/langfuse/langfuse/issues/9882
        if !body["temperature"].is_null() && !body["top_p"].is_null() {
            return Err(refused(
                "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
            ));
        }
        // https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking: older models do not know it.
        if kind == "adaptive" {
            return Err(refused("adaptive thinking is not supported on this model"));
        }
        // https://platform.claude.com/docs/en/build-with-claude/extended-thinking
        if kind == "enabled" {
            let Some(budget) = budget.as_u64() else {
                return Err(refused("thinking.enabled.budget_tokens: Field required"));
            };
            if budget < 1024 {
                return Err(refused(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
                ));
            }
            if budget >= most {
                return Err(refused(
                    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
                ));
            }
            if !body["temperature"].is_null() && body["temperature"] != 1.0 {
                return Err(refused(
                    "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking",
                ));
            }
        }
        // https://platform.claude.com/docs/en/build-with-claude/effort: this model has no effort.
        if !body["output_config"]["effort"].is_null() {
            return Err(refused("This model does not support the effort parameter."));
        }
    }
    let choice = text(&body["tool_choice"], "type");
    if !choice.is_empty() && list(body, "tools").is_empty() {
        return Err(refused(
            "tool_choice may only be specified while providing tools",
        ));
    }
    // https://github.com/mastra-ai/mastra/issues/7507; adaptive too, https://github.com/Alcova-AI/adk-anthropic-go/pull/23.
    if thinks(body) && ["any", "tool"].contains(&choice) {
        return Err(refused(
            "Thinking may not be enabled when tool_choice forces tool use.",
        ));
    }
    Ok(())
}

fn tools(body: &Value) -> Result<(), Answer> {
    let tools = list(body, "tools");
    for (at, tool) in tools.iter().enumerate() {
        let schema = &tool["input_schema"];
        // https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
        if !is_name(text(tool, "name"), "_-", 128) {
            return Err(refused(format!(
                "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )));
        }
        if schema["type"].is_null() {
            return Err(refused(format!(
                "tools.{at}.custom.input_schema.type: Field required"
            )));
        }
        if schema["type"] != "object" {
            return Err(refused(format!(
                "tools.{at}.custom.input_schema.type: Input should be 'object'"
            )));
        }
        // https://github.com/anthropics/claude-code/issues/27337
        if ["oneOf", "allOf", "anyOf"]
            .iter()
            .any(|key| !schema[*key].is_null())
        {
            return Err(refused(format!(
                "tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )));
        }
    }
    if twice(tools.iter().map(|tool| text(tool, "name"))).is_some() {
        return Err(refused("tools: Tool names must be unique."));
    }
    Ok(())
}

/// The messages with their blocks; neighbours of one role are one message (<https://platform.claude.com/docs/en/api/messages/create>).
fn merged(body: &Value) -> Result<Vec<(String, Vec<Value>)>, Answer> {
    let mut messages: Vec<(String, Vec<Value>)> = Vec::new();
    for (at, message) in list(body, "messages").iter().enumerate() {
        let role = text(message, "role");
        if !["user", "assistant"].contains(&role) {
            return Err(refused(format!(
                "messages.{at}.role: Input should be 'user' or 'assistant'"
            )));
        }
        let content = match &message["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            content => content.as_array().cloned().unwrap_or_default(),
        };
        if content.is_empty() {
            return Err(refused(format!(
                "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
            )));
        }
        match messages.last_mut() {
            Some((last, blocks)) if last == role => blocks.extend(content),
            _ => messages.push((role.to_owned(), content)),
        }
    }
    Ok(messages)
}

/// https://github.com/anthropics/claude-code/issues/59812; the second wording is of texts of white space.
fn blocks(messages: &[(String, Vec<Value>)]) -> Result<(), Answer> {
    let texts = messages
        .iter()
        .flat_map(|(_, blocks)| blocks)
        .filter(|block| block["type"] == "text");
    for block in texts {
        let text = text(block, "text");
        if text.is_empty() {
            return Err(refused("messages: text content blocks must be non-empty"));
        }
        if text.trim().is_empty() {
            return Err(refused(
                "messages: text content blocks must contain non-whitespace text",
            ));
        }
    }
    Ok(())
}

fn calls(messages: &[(String, Vec<Value>)]) -> Result<(), Answer> {
    let mut seen = BTreeSet::new();
    let mut before: Vec<&str> = Vec::new();
    for (at, (_, blocks)) in messages.iter().enumerate() {
        for (place, block) in blocks.iter().enumerate() {
            // https://github.com/anomalyco/opencode/issues/1279
            if is_call(block) && !is_name(text(block, "id"), "_-", 256) {
                return Err(refused(format!(
                    "messages.{at}.content.{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                )));
            }
            if is_call(block) && !is_name(text(block, "name"), "_-", 200) {
                return Err(refused(format!(
                    "messages.{at}.content.{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
                )));
            }
            // https://github.com/anthropics/claude-code/issues/28515: in the whole conversation.
            if is_call(block) && !seen.insert(text(block, "id").to_owned()) {
                return Err(refused(format!(
                    "messages.{at}.content.{place}: `tool_use` ids must be unique"
                )));
            }
            if is_call(block) && !block["input"].is_object() {
                return Err(refused(format!(
                    "messages.{at}.content.{place}.tool_use.input: Input should be an object"
                )));
            }
        }
        // Results stand before any text.
        let results: Vec<&str> = blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .map(|block| text(block, "tool_use_id"))
            .collect();
        let open: Vec<&str> = before
            .iter()
            .copied()
            .filter(|id| !results.contains(id))
            .collect();
        if !open.is_empty() {
            // https://github.com/anthropics/claude-code/issues/8612
            return Err(refused(format!(
                "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                at - 1,
                open.join(", ")
            )));
        }
        for (place, block) in blocks.iter().enumerate() {
            let id = text(block, "tool_use_id");
            if block["type"] == "tool_result" && !before.contains(&id) {
                // https://github.com/anthropics/claude-code/issues/18947
                return Err(refused(format!(
                    "messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )));
            }
        }
        before = blocks
            .iter()
            .filter(|block| is_call(block))
            .map(|block| text(block, "id"))
            .collect();
    }
    if !before.is_empty() {
        return Err(refused(format!(
            "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            messages.len() - 1,
            before.join(", ")
        )));
    }
    Ok(())
}

fn thinking(body: &Value, messages: &[(String, Vec<Value>)], given: &Given) -> Result<(), Answer> {
    for (at, (role, blocks)) in messages.iter().enumerate() {
        for (place, block) in blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| is_thought(block))
        {
            let (signature, signed) = match text(block, "type") {
                "thinking" => (text(block, "signature"), text(block, "thinking")),
                _ => (text(block, "data"), "redacted"),
            };
            // https://github.com/ding113/claude-code-hub/issues/518
            if given
                .signatures
                .get(signature)
                .is_none_or(|known| known != signed)
            {
                return Err(refused(format!(
                    "messages.{at}.content.{place}: Invalid `signature` in `thinking` block"
                )));
            }
        }
        // https://github.com/anthropics/claude-code/issues/20691
        if role == "assistant" && blocks.iter().any(is_thought) && !is_thought(&blocks[0]) {
            return Err(refused(format!(
                "messages.{at}.content.0: If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `{}`.",
                text(&blocks[0], "type")
            )));
        }
    }
    // https://github.com/deepset-ai/haystack-core-integrations/issues/2146; adaptive thinking does not ask for it
    // (https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking).
    let in_loop = messages
        .last()
        .is_some_and(|(_, blocks)| blocks[0]["type"] == "tool_result");
    let of_model = messages
        .iter()
        .enumerate()
        .rev()
        .find(|(_, (role, _))| role == "assistant");
    if body["thinking"]["type"] == "enabled"
        && in_loop
        && let Some((at, (_, blocks))) = of_model.filter(|(_, (_, blocks))| !is_thought(&blocks[0]))
    {
        return Err(refused(format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
            text(&blocks[0], "type")
        )));
    }
    Ok(())
}

pub fn said(said: &Said, asked: &Asked, given: &mut Given) -> Answer {
    let mut content = Vec::new();
    if asked.reasons {
        // The second thinking of a run is redacted.
        content.push(if asked.rounds == 1 {
            json!({"type": "redacted_thinking", "data": given.sign("redacted")})
        } else {
            let thinking = reasoning(asked.rounds);
            json!({"type": "thinking", "thinking": thinking, "signature": given.sign(&thinking)})
        });
    }
    let id = |at: usize| format!("toolu_01{}", given.id(22, asked.rounds, at));
    let mut is_cut = false;
    let mut stop = "end_turn";
    match said {
        Said::Message(words, calls) => {
            if !words.is_empty() {
                content.push(json!({"type": "text", "text": words}));
            }
            for (at, (name, input)) in calls.iter().enumerate() {
                content.push(json!({"type": "tool_use", "id": id(at), "name": asked.tool(name), "input": input}));
                stop = "tool_use";
            }
        }
        Said::Malformed(name) => {
            // A body has parsed arguments: the nearest to a broken text is one that is no object.
            content.push(json!({"type": "tool_use", "id": id(0), "name": asked.tool(name), "input": "{\"text\": \"one"}));
            stop = "tool_use";
            is_cut = true;
        }
        Said::Fault(_) => {}
    }
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
    let mut message = json!({"id": "msg_01Strict", "type": "message", "role": "assistant", "model": "claude",
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage});
    if let Some(call) = content.iter().find(|block| is_call(block)) {
        given
            .messages
            .insert(text(call, "id").to_owned(), message.clone());
    }
    if !asked.streamed {
        return Answer::json(200, &message);
    }
    let mut events = Vec::new();
    let mut event =
        |value: Value| events.push((text(&value, "type").to_owned(), value.to_string()));
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    event(json!({"type": "message_start", "message": message}));
    event(json!({"type": "ping"}));
    for (at, block) in content.iter().enumerate() {
        let mut start = block.clone();
        let mut deltas = Vec::new();
        match text(block, "type") {
            "thinking" => {
                (start["thinking"], start["signature"]) = (json!(""), json!(""));
                deltas.extend(
                    halves(text(block, "thinking"))
                        .map(|piece| json!({"type": "thinking_delta", "thinking": piece})),
                );
                deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            }
            "text" => {
                start["text"] = json!("");
                deltas.extend(
                    halves(text(block, "text"))
                        .map(|piece| json!({"type": "text_delta", "text": piece})),
                );
            }
            "tool_use" => {
                start["input"] = json!({});
                let whole = if is_cut {
                    text(block, "input").to_owned()
                } else {
                    block["input"].to_string()
                };
                deltas.extend(
                    halves(&whole)
                        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece})),
                );
            }
            _ => {}
        }
        event(json!({"type": "content_block_start", "index": at, "content_block": start}));
        for delta in deltas {
            event(json!({"type": "content_block_delta", "index": at, "delta": delta}));
        }
        event(json!({"type": "content_block_stop", "index": at}));
    }
    event(
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 20}}),
    );
    event(json!({"type": "message_stop"}));
    Answer::events(
        events
            .iter()
            .map(|(name, data)| (Some(name.as_str()), data.clone())),
    )
}
