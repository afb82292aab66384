//! Requests to models of which the contract holds facts: names of parameters, and the form of reasoning.

use serde_json::{Value, json};

use super::fixture::{body, terms_of, text_message};
use crate::contract::Terms;
use crate::kernel::ToolExposure;
use crate::message::Role;

/// Parameters without anything that another key displaces.
fn plain() -> Value {
    json!({"repeat_penalty": null, "temperature": null, "top_p": null, "seed": null})
}

const CHAT: &str = "openai-chat/1";
const RESPONSES: &str = "openai-responses/1";
const ANTHROPIC: &str = "anthropic-messages/1";
const GEMINI: &str = "google-gemini/1";

/// A target of that adapter whose model has these facts.
fn with_facts(version: &str, sampling: &Value, facts: Value) -> Terms {
    let mut value = serde_json::to_value(terms_of(version, sampling)).unwrap();
    value["targets"][0]["facts"] = facts;
    value["targets"][0]["facts"]["catalogue"] = json!("c");
    serde_json::from_value(value).unwrap()
}

/// The parameters of a request, without what carries the conversation.
fn parameters(terms: &Terms, exposure: ToolExposure) -> Value {
    let mut sent = body(terms, &[text_message(Role::User, "x")], exposure);
    for key in [
        "model", "messages", "contents", "input", "tools", "stream", "store", "include",
    ] {
        sent.as_object_mut().unwrap().remove(key);
    }
    for key in ["parallel_tool_calls", "toolConfig"] {
        sent.as_object_mut().unwrap().remove(key);
    }
    sent
}

#[test]
fn a_parameter_has_the_name_that_the_model_takes() {
    let sampling = json!({
        "repeat_penalty": null, "temperature": null, "seed": 41, "max_output_tokens": 77, "stream": true,
    });
    let check = |refuses: &[&str], expect: Value| {
        let terms = with_facts(CHAT, &sampling, json!({"refuses": refuses}));
        let mut sent = parameters(&terms, ToolExposure::Auto);
        sent.as_object_mut().unwrap().remove("tool_choice");
        assert_eq!(sent, expect, "{refuses:?}");
    };
    let usage = json!({"include_usage": true});
    check(
        &[],
        json!({"max_tokens": 77, "seed": 41, "stream_options": usage}),
    );
    check(
        &["max_tokens"],
        json!({"max_completion_tokens": 77, "seed": 41, "stream_options": usage}),
    );
    check(
        &["seed", "stream_options"],
        json!({"max_tokens": 77, "random_seed": 41}),
    );
}

#[test]
fn a_level_of_reasoning_is_the_models_own_word() {
    let check = |version: &str, facts: Value, level: Value, pointer: &str, expect: Value| {
        let mut sampling = plain();
        for (key, value) in level.as_object().unwrap() {
            sampling[key] = value.clone();
        }
        let sent = parameters(&with_facts(version, &sampling, facts), ToolExposure::Auto);
        let found = sent.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, &expect, "{version} {level} {sent}");
    };
    let minimal = json!({"reasoning": "minimal"});
    let off = json!({"reasoning_tokens": 0});
    let words = json!({"efforts": ["none", "low", "medium", "high"]});
    check(
        CHAT,
        words.clone(),
        minimal.clone(),
        "/reasoning_effort",
        json!("low"),
    );
    check(
        RESPONSES,
        words.clone(),
        minimal.clone(),
        "/reasoning/effort",
        json!("low"),
    );
    check(
        CHAT,
        words.clone(),
        off.clone(),
        "/reasoning_effort",
        json!("none"),
    );
    check(
        RESPONSES,
        words,
        off.clone(),
        "/reasoning/effort",
        json!("none"),
    );
    let adaptive = json!({"efforts": ["low", "high"], "thinking": "adaptive"});
    check(
        ANTHROPIC,
        adaptive.clone(),
        minimal.clone(),
        "/thinking",
        json!({"type": "adaptive"}),
    );
    check(
        ANTHROPIC,
        adaptive.clone(),
        minimal.clone(),
        "/output_config/effort",
        json!("low"),
    );
    check(
        ANTHROPIC,
        adaptive.clone(),
        off.clone(),
        "/thinking",
        Value::Null,
    );
    check(
        ANTHROPIC,
        adaptive.clone(),
        json!({}),
        "/thinking",
        Value::Null,
    );
    // The author's number is the author's word.
    check(
        ANTHROPIC,
        adaptive,
        json!({"reasoning_tokens": 2000}),
        "/thinking/budget_tokens",
        json!(2000),
    );
    let on = json!({"efforts": ["low"], "thinking": "adaptive_on"});
    check(
        ANTHROPIC,
        on,
        off.clone(),
        "/thinking",
        json!({"type": "disabled"}),
    );
    let level = json!({"efforts": ["low", "high"], "thinking": "level"});
    let thinking = "/generationConfig/thinkingConfig";
    let sent = json!({"thinkingLevel": "low", "includeThoughts": true});
    check(GEMINI, level.clone(), minimal, thinking, sent);
    let weakest = json!({"thinkingLevel": "low", "includeThoughts": false});
    check(GEMINI, level, off, thinking, weakest);
}

#[test]
fn a_forced_call_goes_with_the_thinking_that_the_model_allows() {
    let check = |facts: Value, choice: &str, thinking: Value| {
        let terms = with_facts(ANTHROPIC, &plain(), facts);
        let sent = parameters(&terms, ToolExposure::Forced);
        assert_eq!(sent["tool_choice"]["type"], choice, "{sent}");
        assert_eq!(sent["thinking"], thinking, "{sent}");
    };
    check(json!({"thinking": "adaptive"}), "any", Value::Null);
    check(
        json!({"thinking": "adaptive_on"}),
        "any",
        json!({"type": "disabled"}),
    );
    check(
        json!({"thinking": "always", "refuses": ["tool_choice"]}),
        "auto",
        Value::Null,
    );
}
