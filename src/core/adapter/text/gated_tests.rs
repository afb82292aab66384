//! The grammar that goes out with calls in text, and that what a server samples under it is read back.

use serde_json::Value;

use crate::adapter::fixture::{terms, text_message};
use crate::adapter::{Adapter, Decoded, RequestEncoder, RequestShape, ResponseMeta};
use crate::contract::{GateGrammar, GrammarLanguage, Terms, TextProfile};
use crate::kernel::ToolExposure;
use crate::message::Role;

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
