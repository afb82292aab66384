//! Messages of another target, in a form that each target takes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fixture::{body, encode, message, terms_of, text_message};
use super::state_tests::{CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES, asked, chat, sent, terms};
use super::{RequestEncoder, RequestShape};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, ObjectText, Role, ToolInvocation};

/// A message of another target with calls of these ids and names.
fn foreign(calls: &[(&str, &str)]) -> AgentMessage {
    let call = |(id, name): &(&str, &str)| ToolInvocation {
        arguments: ObjectText::empty(),
        fault: None,
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        raw_payload: None,
        source_model: "other".to_owned(),
    };
    AgentMessage {
        tool_calls: calls.iter().map(call).collect(),
        ..AgentMessage::text(Role::Assistant, "", 1)
    }
}

fn answered(calls: &[(&str, &str)]) -> Vec<Arc<AgentMessage>> {
    let mut talk = asked(foreign(calls));
    let results = calls
        .iter()
        .map(|(id, _)| AgentMessage::observation(*id, "ok", 1));
    talk.extend(results.map(Arc::new));
    talk
}

#[test]
fn gemini_3_gets_the_documented_signature_for_calls_that_it_did_not_make() {
    let talk = answered(&[("a", "read"), ("b", "read")]);
    for (model, expect) in [
        ("gemini-3-pro-preview", true),
        ("gemini-flash-latest", true),
        ("gemini-2.5-pro", false),
    ] {
        let got = sent(GEMINI, model, &talk);
        let parts = &got["contents"][1]["parts"];
        let signature = &parts[0]["thoughtSignature"];
        assert_eq!(
            *signature == "skip_thought_signature_validator",
            expect,
            "{model}"
        );
        assert!(parts[1].get("thoughtSignature").is_none());
    }
    // Nor does its own protocol in OpenAI's form.
    let mut terms = terms(CHAT, "gemini-3-pro-preview", &json!({}));
    let address = "https://generativelanguage.googleapis.com/v1beta/openai";
    terms.providers.get_mut("p").unwrap().base_url = Some(address.to_owned());
    let got = body(&terms, &talk, ToolExposure::Auto);
    let calls = &got["messages"][1]["tool_calls"];
    let signed = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    assert_eq!(calls[0]["extra_content"], signed);
    assert!(calls[1].get("extra_content").is_none());
}

#[test]
fn claude_thinks_only_in_a_loop_that_its_own_thinking_began() {
    let thinking = json!({"reasoning": "high"});
    let terms = terms_of(CLAUDE, &thinking);
    let thinks =
        |talk: &[Arc<AgentMessage>]| body(&terms, talk, ToolExposure::Auto)["thinking"].is_object();
    let own = |blocks: &str| {
        message(
            CLAUDE,
            &format!(r#"{{"type":"message","content":[{blocks}],"stop_reason":"tool_use"}}"#),
        )
    };
    let call = r#"{"type":"tool_use","id":"a","name":"read","input":{}}"#;
    let thought = r#"{"type":"thinking","thinking":"why","signature":"sig"}"#;
    let result = || Arc::new(AgentMessage::observation("a", "ok", 1));
    assert!(thinks(&[text_message(Role::User, "x")]));
    // Another model's calls, and its own under a forced call.
    let mut talk = answered(&[("a", "read")]);
    assert!(!thinks(&talk));
    talk.push(text_message(Role::User, "System notice: go on."));
    assert!(!thinks(&talk), "a notice belongs to the results");
    let mut forced = asked(own(call));
    forced.push(result());
    assert!(!thinks(&forced));
    let mut begun = asked(own(&format!("{thought},{call}")));
    begun.push(result());
    assert!(thinks(&begun));
    // A later call of the loop need not be thought about.
    begun.push(Arc::new(own(&call.replace("\"a\"", "\"b\""))));
    begun.push(Arc::new(AgentMessage::observation("b", "ok", 1)));
    assert!(thinks(&begun));
    // The next turn of the user begins a new loop.
    talk.push(text_message(Role::Assistant, "done"));
    talk.push(text_message(Role::User, "next"));
    assert!(thinks(&talk));
}

#[test]
fn ids_have_the_form_of_the_target_and_stay_apart() {
    let calls = [
        ("echo:0", "read"),
        ("echo.0", "read"),
        ("functions.read:12", "read"),
    ];
    let long = "x".repeat(65);
    let calls: Vec<(&str, &str)> = calls.into_iter().chain([(long.as_str(), "read")]).collect();
    let mut talk = answered(&calls);
    // The same ids once more: some servers count from 0 in every message.
    talk.extend(answered(&calls).into_iter().skip(1));
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let of_chat = |got: &Value| {
        let messages = got["messages"].as_array().unwrap().iter();
        let mut ids: [Vec<String>; 2] = Default::default();
        for message in messages {
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                ids[0].push(call["id"].as_str().unwrap().to_owned());
            }
            ids[1].extend(message["tool_call_id"].as_str().map(str::to_owned));
        }
        ids
    };
    let check = |[asked, answered]: [Vec<String>; 2], fits: &dyn Fn(&str) -> bool| {
        assert_eq!(asked, answered);
        assert_eq!(asked.len(), 8);
        let apart: std::collections::BTreeSet<&String> = asked.iter().collect();
        assert_eq!(apart.len(), 8, "{asked:?}");
        assert!(asked.iter().all(|id| fits(id)), "{asked:?}");
    };
    check(of_chat(&sent(CHAT, "mistral-large-latest", &talk)), &|id| {
        id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let kimi = of_chat(&sent(CHAT, "kimi-k2-thinking", &talk));
    assert_eq!(kimi[0][2], "functions.read:12", "its own form is kept");
    check(kimi, &|_| true);
    let mut openai = terms(CHAT, "gpt-5", &json!({}));
    openai.providers.get_mut("p").unwrap().base_url = Some("https://api.openai.com/v1".to_owned());
    check(of_chat(&body(&openai, &talk, ToolExposure::Auto)), &|id| {
        id.len() <= 40
    });
    let got = sent(CLAUDE, "m", &talk);
    let mut ids: [Vec<String>; 2] = Default::default();
    for message in got["messages"].as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            ids[0].extend(block["id"].as_str().map(str::to_owned));
            ids[1].extend(block["tool_use_id"].as_str().map(str::to_owned));
        }
    }
    check(ids, &|id| id.len() <= 64 && id.chars().all(is_word));
    let got = sent(RESPONSES, "m", &talk);
    let mut ids: [Vec<String>; 2] = Default::default();
    for item in got["input"].as_array().unwrap() {
        let id = item["call_id"].as_str().map(str::to_owned);
        let at = usize::from(item["type"] == "function_call_output");
        ids[at].extend(id);
    }
    check(ids, &|id| id.len() <= 64 && id.chars().all(is_word));
}

#[test]
fn a_name_that_is_no_tools_is_sent_in_letters_that_every_provider_takes() {
    let talk = answered(&[
        ("a", "echo<|channel|>commentary"),
        ("b", "é"),
        ("c", "read"),
    ]);
    for version in [CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES] {
        let sent = encode(&terms_of(version, &json!({})), &talk, ToolExposure::Auto);
        assert!(
            !sent.contains("<|channel|>") && !sent.contains('é'),
            "{version}: {sent}"
        );
        assert!(
            sent.contains("\"echo__channel__commentary\""),
            "{version}: {sent}"
        );
        assert!(sent.contains("\"read\""), "{version}");
    }
}

#[test]
fn no_message_of_the_model_is_empty() {
    let thought = AgentMessage {
        reasoning: Some("why".to_owned()),
        ..AgentMessage::text(Role::Assistant, " ", 1)
    };
    let talk = [
        text_message(Role::User, "x"),
        Arc::new(thought),
        Arc::new(message(
            CHAT,
            &chat(r#"{"content":"","reasoning_content":"why"}"#),
        )),
        Arc::new(message(
            CLAUDE,
            r#"{"type":"message","content":[{"type":"thinking","thinking":"why","signature":"sig"}],"stop_reason":"end_turn"}"#,
        )),
        Arc::new(message(
            RESPONSES,
            r#"{"status":"completed","output":[{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"xx"}]}"#,
        )),
    ];
    for version in [CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES] {
        let sent = encode(&terms_of(version, &json!({})), &talk, ToolExposure::Auto);
        let model = [
            "\"assistant\"",
            "\"model\":[",
            "\"role\":\"model\"",
            "reasoning\"",
        ];
        assert!(
            !model.iter().any(|role| sent.contains(role)),
            "{version}: {sent}"
        );
    }
}

#[test]
fn a_server_that_wants_reasoning_beside_calls_gets_some() {
    let talk = answered(&[("a", "read")]);
    for model in ["deepseek-v4-pro", "kimi-k2-thinking"] {
        let got = sent(CHAT, model, &talk);
        assert_eq!(got["messages"][1]["reasoning_content"], " ", "{model}");
    }
    assert!(
        sent(CHAT, "m", &talk)["messages"][1]
            .get("reasoning_content")
            .is_none()
    );
}

#[test]
fn notices_are_joined_to_the_last_result_where_only_the_model_may_follow_it() {
    let notices = [AgentMessage::text(Role::User, "System \"notice\".", 1)];
    let mut talk = answered(&[("a", "read"), ("b", "read")]);
    let mut encoder = RequestEncoder::new(&terms(CHAT, "devstral-2", &json!({})), 0).unwrap();
    let mut with = |talk: &[Arc<AgentMessage>], notices: &[AgentMessage]| {
        let shape = RequestShape {
            closing: false,
            without_state: false,
            xml: None,
            notices,
            tools: ToolExposure::Auto,
        };
        let bytes = encoder.encode(talk, &shape);
        let whole = RequestEncoder::new(&terms(CHAT, "devstral-2", &json!({})), 0)
            .unwrap()
            .encode(talk, &shape);
        assert_eq!(
            bytes, whole,
            "an encoder that continues writes the same bytes"
        );
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        let messages = value["messages"].as_array().unwrap().iter();
        let shown = messages.map(|m| format!("{}: {}", m["role"], m["content"]).replace('"', ""));
        shown.collect::<Vec<_>>()
    };
    let before = ["user: x", "assistant: null", "tool: ok"];
    let joined = "tool: ok\\n\\nSystem \\notice\\.";
    assert_eq!(with(&talk, &notices), [&before[..], &[joined]].concat());
    assert_eq!(with(&talk, &[]), [&before[..], &["tool: ok"]].concat());
    talk.push(text_message(Role::User, "last"));
    let last = ["tool: ok\\n\\nlast"];
    assert_eq!(with(&talk, &[]), [&before[..], &last].concat());
    talk.push(text_message(Role::Assistant, "done"));
    talk.push(text_message(Role::User, "next"));
    let rest = [
        "tool: ok\\n\\nlast",
        "assistant: done",
        "user: next",
        "user: System \\notice\\.",
    ];
    assert_eq!(with(&talk, &notices), [&before[..], &rest].concat());
}
