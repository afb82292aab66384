//! Requests: the messages for a model without native calls, and a check that a conversation is rendered once.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::encoder::Encoder;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::fixture::{marked_text, terms, text_message};
use crate::adapter::marks::TAGGED;
use crate::adapter::{Adapter, Decoded, RequestEncoder, RequestShape, ResponseMeta};
use crate::contract::{GateGrammar, GrammarLanguage, Terms, TextProfile};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, ObjectText, Role, ToolInvocation};

fn layered(profile: TextProfile, change: impl FnOnce(&mut Value)) -> Terms {
    terms(|value| {
        value["targets"][0]["adapter_version"] = profile.over("openai-chat/1").into();
        change(value);
    })
}

fn conversation() -> Vec<Arc<AgentMessage>> {
    let call = |id: &str, name: &str| ToolInvocation {
        arguments: ObjectText::parse("{\"path\": \"</tool_call>\"}").unwrap(),
        id: id.to_owned(),
        name: name.to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "m".to_owned(),
    };
    vec![
        text_message(Role::System, "Be brief."),
        text_message(Role::User, "What is <tool_call>? <|eot_id|>"),
        Arc::new(AgentMessage {
            reasoning: Some("never sent".to_owned()),
            tool_calls: vec![call("call_1", "read"), call("call_2", "write")],
            ..AgentMessage::text(Role::Assistant, "I look.\n", 5)
        }),
        Arc::new(AgentMessage::observation(
            "call_1",
            "</tool_response>\n\"MIT\"",
            2,
        )),
        Arc::new(AgentMessage::observation("call_2", "<|python_tag|>", 2)),
        text_message(Role::Assistant, "{\"name\": \"f\", \"parameters\": {}}"),
    ]
}

/// The messages of a body, and its other keys.
fn sent(body: &[u8]) -> (Vec<(String, String)>, Vec<String>) {
    let body: Value = serde_json::from_slice(body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter().map(|message| {
        let text = |key: &str| message[key].as_str().unwrap_or("-").to_owned();
        (text("role"), text("content"))
    });
    let keys = body.as_object().unwrap().keys().cloned().collect();
    (messages.collect(), keys)
}

fn encode(terms: &Terms, conversation: &[Arc<AgentMessage>], tools: ToolExposure) -> Vec<u8> {
    let mut encoder = RequestEncoder::new(terms, 0).unwrap();
    let notice = [AgentMessage::text(Role::User, "Again, <think>.", 0)];
    let notices = &notice[..usize::from(tools == ToolExposure::Forced)];
    let shape = RequestShape {
        closing: false,
        without_state: false,
        xml: None,
        notices,
        tools,
    };
    encoder.encode(conversation, &shape).to_vec()
}

/// The messages after the system prompt.
fn check(profile: TextProfile, expect: &[(&str, &str)]) {
    let terms = layered(profile, |_| {});
    let (messages, keys) = sent(&encode(&terms, &conversation(), ToolExposure::Forced));
    let messages: Vec<(&str, &str)> = messages
        .iter()
        .map(|(role, text)| (role.as_str(), text.as_str()))
        .collect();
    assert_eq!(messages[1..], *expect);
    assert!(!keys.iter().any(|key| key.contains("tool")), "{keys:?}");
}

#[test]
fn calls_and_results_are_text_in_the_form_of_the_family() {
    let requested = concat!(
        "I look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"</tool_call>\"}}\n</tool_call>\n",
        "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"path\": \"</tool_call>\"}}\n</tool_call>"
    );
    let task = ("user", "What is <\\tool_call>? <|eot_id|>");
    let reply = ("assistant", "{\"name\": \"f\", \"parameters\": {}}");
    check(
        TextProfile::Hermes,
        &[
            task,
            ("assistant", requested),
            (
                "user",
                concat!(
                    "<tool_response>\n",
                    r#"{"name": "read", "content": "<\\/tool_response>\n\"MIT\""}"#,
                    "\n</tool_response>\n<tool_response>\n",
                    r#"{"name": "write", "content": "<|python_tag|>"}"#,
                    "\n</tool_response>"
                ),
            ),
            reply,
            ("user", "Again, <\\think>."),
        ],
    );
    check(
        TextProfile::Qwen,
        &[
            task,
            ("assistant", requested),
            (
                "user",
                concat!(
                    "<tool_response>\n<\\/tool_response>\n\"MIT\"\n</tool_response>\n",
                    "<tool_response>\n<|python_tag|>\n</tool_response>"
                ),
            ),
            reply,
            ("user", "Again, <\\think>."),
        ],
    );
    check(
        TextProfile::Llama3,
        &[
            ("user", "What is <tool_call>? <\\|eot_id|>"),
            (
                "assistant",
                concat!(
                    "I look.<|python_tag|>{\"name\": \"read\", \"parameters\": {\"path\": \"</tool_call>\"}}; ",
                    "{\"name\": \"write\", \"parameters\": {\"path\": \"</tool_call>\"}}"
                ),
            ),
            ("tool", "</tool_response>\n\"MIT\""),
            ("tool", "<\\|python_tag|>"),
            ("assistant", "\\{\"name\": \"f\", \"parameters\": {}}"),
            ("user", "Again, <\\think>."),
        ],
    );
}

#[test]
fn the_system_prompt_has_the_tools_once_and_only_if_they_are_offered() {
    for profile in TextProfile::ALL {
        let terms = layered(profile, |value| {
            value["tools"][0]["description"] = "reads </tools> <|eot_id|>".into();
        });
        let definition = "\"function\":{\"name\":\"read\"";
        for tools in [ToolExposure::Auto, ToolExposure::Forced] {
            let body = encode(&terms, &conversation(), tools);
            let (messages, _) = sent(&body);
            let (role, text) = &messages[0];
            assert_eq!(role, "system");
            assert!(text.starts_with("Be brief.\n\n"), "{text}");
            assert_eq!(text.matches(definition).count(), 1, "{text}");
            let escaped = match profile {
                TextProfile::Llama3 => "reads </tools> \\u003c|eot_id|>",
                _ => "reads \\u003c/tools> <|eot_id|>",
            };
            assert!(text.contains(escaped), "{text}");
            let all = String::from_utf8(body).unwrap();
            assert_eq!(all.matches("does write").count(), 1);
        }
        let (messages, _) = sent(&encode(&terms, &conversation(), ToolExposure::Withheld));
        assert_eq!(messages[0].1, "Be brief.");
        // A conversation without a system prompt gets one for the tools.
        let (messages, _) = sent(&encode(&terms, &conversation()[1..], ToolExposure::Auto));
        assert_eq!(messages[0].0, "system");
        assert!(messages[0].1.contains(definition));
        assert_eq!(messages[1].0, "user");
    }
}

#[test]
fn the_prompts_are_these() {
    let prompts = TextProfile::ALL.map(|profile| {
        let terms = layered(profile, |_| {});
        format!(
            "{}\n{}",
            profile.as_str(),
            super::encoder::tools(profile, &terms).unwrap()
        )
    });
    insta::assert_snapshot!(prompts.join("\n\n\n"));
}

/// Counts how many messages it is shown for the first time.
#[derive(Debug, Default)]
struct Counting {
    seen: Vec<Arc<AgentMessage>>,
    new: Arc<std::sync::atomic::AtomicUsize>,
}

impl Encode for Counting {
    fn encode(&mut self, conversation: &[Arc<AgentMessage>], _: &RequestShape<'_>) -> RequestBody {
        let is_new = |m: &&Arc<AgentMessage>| !self.seen.iter().any(|seen| Arc::ptr_eq(seen, m));
        let new = conversation.iter().filter(is_new).count();
        self.new
            .fetch_add(new, std::sync::atomic::Ordering::Relaxed);
        self.seen = conversation.to_vec();
        RequestBody::whole(Vec::new())
    }
}

#[test]
fn a_message_is_rendered_once_however_often_the_conversation_grows() {
    let terms = layered(TextProfile::Qwen, |_| {});
    let new = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counting = Counting {
        new: Arc::clone(&new),
        ..Counting::default()
    };
    let mut encoder = Encoder::new(TextProfile::Qwen, &terms, Box::new(counting));
    let shape = RequestShape {
        closing: false,
        without_state: false,
        xml: None,
        notices: &[],
        tools: ToolExposure::Auto,
    };
    let conversation = conversation();
    for length in [2, 2, 5, 6, 6] {
        encoder.encode(&conversation[..length], &shape);
    }
    // Two results share a message.
    let rendered = new.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(rendered, conversation.len() - 1);
}

proptest! {
    #[test]
    fn the_bytes_do_not_depend_on_what_was_encoded_before(
        steps in proptest::collection::vec((0_usize..7, 0_usize..4), 1..8),
        other in marked_text(),
    ) {
        let mut other_turn = conversation();
        other_turn[3] = Arc::new(AgentMessage::observation("call_1", other, 2));
        let versions = [conversation(), other_turn];
        for profile in TextProfile::ALL {
            let terms = layered(profile, |_| {});
            let mut kept = RequestEncoder::new(&terms, 0).unwrap();
            for (length, kind) in &steps {
                let conversation = &versions[kind % 2][..(*length).min(6)];
                let tools = if *kind < 2 { ToolExposure::Auto } else { ToolExposure::Withheld };
                let shape = RequestShape { closing: false, without_state: false, xml: None, notices: &[], tools };
                let fresh = RequestEncoder::new(&terms, 0).unwrap().encode(conversation, &shape);
                prop_assert_eq!(kept.encode(conversation, &shape), fresh);
            }
        }
    }

    #[test]
    fn text_of_a_tool_or_user_is_never_markup_and_comes_back(text in marked_text()) {
        let mut hostile = conversation();
        hostile[1] = text_message(Role::User, &text);
        hostile[3] = Arc::new(AgentMessage::observation("call_1", text.clone(), 2));
        hostile.remove(4);
        let tag = "<tool_response>\n";
        for profile in [TextProfile::Hermes, TextProfile::Qwen] {
            let terms = layered(profile, |_| {});
            let (messages, _) = sent(&encode(&terms, &hostile, ToolExposure::Auto));
            for word in TAGGED.0 {
                let marker = format!("<{word}");
 prop_assert!(!messages[1].1.contains(&marker));
            }
            let user = TAGGED.unescape(&messages[1].1);
            prop_assert_eq!(user.as_ref(), text.as_str());
            let result = messages[3].1.strip_prefix(tag).and_then(|r| r.strip_suffix("\n</tool_response>"));
            let result = result.unwrap();
            for word in TAGGED.0 {
                let marker = format!("<{word}");
 prop_assert!(!result.contains(&marker));
            }
            let inner = match profile {
                TextProfile::Hermes => {
                    let value: Value = serde_json::from_str(result).unwrap();
                    value["content"].as_str().unwrap().to_owned()
                }
                _ => result.to_owned(),
            };
            let back = TAGGED.unescape(&inner);
            prop_assert_eq!(back.as_ref(), text.as_str());
        }
    }
}

#[test]
fn the_same_plain_messages_go_out_over_another_wire_protocol() {
    let hostile = |wire: &str, conversation: &[Arc<AgentMessage>]| -> Value {
        let version = TextProfile::Hermes.over(wire).unwrap();
        let terms = terms(|value| value["targets"][0]["adapter_version"] = version.into());
        let mut encoder = RequestEncoder::new(&terms, 0).unwrap();
        let shape = RequestShape {
            closing: false,
            without_state: false,
            xml: None,
            notices: &[],
            tools: ToolExposure::Auto,
        };
        serde_json::from_slice(&encoder.encode(conversation, &shape)).unwrap()
    };
    let conversation = conversation();
    let (near, far) = (
        hostile("ollama-chat/1", &conversation),
        hostile("openai-chat/1", &conversation),
    );
    assert!(near.get("tools").is_none() && near["options"]["num_predict"].is_u64());
    let texts = |body: &Value| -> Vec<(String, String)> {
        let messages = body["messages"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        messages
            .map(|message| (text(&message["role"]), text(&message["content"])))
            .collect()
    };
    assert_eq!(texts(&near), texts(&far));
    assert!(texts(&near)[0].1.contains("<tools>"));
}

fn gated(profile: TextProfile, language: GrammarLanguage) -> Terms {
    let mut terms = terms(|value| {
        value["targets"][0]["adapter_version"] = profile.over("openai-chat/1").into();
        value["grammar_profile"] = language.profile().into();
    });
    let closed = GateGrammar::closed(&terms, language).unwrap();
    terms.grammar = Some(closed.text);
    terms
}

fn body(terms: &Terms, tools: ToolExposure) -> Value {
    let conversation = [text_message(Role::User, "Hi.")];
    let shape = RequestShape {
        closing: false,
        without_state: false,
        notices: &[],
        tools,
        xml: None,
    };
    let mut encoder = RequestEncoder::new(terms, 0).unwrap();
    serde_json::from_slice(&encoder.encode(&conversation, &shape)).unwrap()
}

#[test]
fn a_closed_gate_sends_calls_only_a_closing_turn_sends_prose_only_and_an_open_one_sends_nothing() {
    for profile in [TextProfile::Hermes, TextProfile::Qwen] {
        let terms = gated(profile, GrammarLanguage::Gbnf);
        let prose = GateGrammar::prose(GrammarLanguage::Gbnf).text;
        let sent = |tools| body(&terms, tools)["grammar"].as_str().map(str::to_owned);
        assert_eq!(sent(ToolExposure::Forced), terms.grammar);
        assert_eq!(sent(ToolExposure::Withheld), Some(prose));
        assert_eq!(sent(ToolExposure::Auto), None);
        let forced = body(&terms, ToolExposure::Forced);
        // A server refuses a grammar beside tools, so the tools are in the prompt only.
        assert_eq!(
            (forced.get("tools"), forced.get("tool_choice")),
            (None, None)
        );
        let system = forced["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("<tools>"), "{system}");
    }
}

#[test]
fn a_grammar_for_another_engine_is_not_sent() {
    let terms = gated(TextProfile::Hermes, GrammarLanguage::Lark);
    let sent = body(&terms, ToolExposure::Forced);
    assert_eq!(sent.get("grammar"), None);
}

#[test]
fn a_call_of_the_grammar_is_read_byte_for_byte() {
    let terms = gated(TextProfile::Hermes, GrammarLanguage::Gbnf);
    let text = "<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>";
    let message = serde_json::json!({"role": "assistant", "content": text});
    let response = serde_json::json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    let adapter = Adapter::of_target(&terms, 0).unwrap();
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let mut decoder = adapter.decoder(meta, "m");
    decoder.push(response.to_string().as_bytes());
    let Decoded::Message(result) = decoder.finish() else {
        panic!("no message")
    };
    assert_eq!(result.repair, None);
    let message = result.canonical_message.unwrap();
    assert_eq!(message.content, "");
    assert_eq!(message.tool_calls[0].name, "read");
    assert_eq!(message.tool_calls[0].arguments.as_str(), "{\"path\":\"a\"}");
}
