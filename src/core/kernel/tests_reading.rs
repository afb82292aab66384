//! The machine's reaction to how an answer ended, to plain text, and to arguments that break a schema.

use super::ClosingReason;
use super::testing::*;
use crate::contract::{FINAL_REPORT, Terms, ToolPolicy, ToolTransport};
use crate::message::{AgentMessage, ProtocolAdapterResult, ProviderFaultClass, StopReason};

fn unended(message: AgentMessage, word: Option<&str>) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        stop: StopReason::Unknown,
        stop_word: word.map(str::to_owned),
        ..native(message)
    }
}

fn note(h: &Harness) -> Option<String> {
    h.entries
        .iter()
        .rev()
        .find_map(|entry| entry.action.note.clone())
}

fn asked(h: &Harness) -> Option<(u32, u32, Option<ClosingReason>)> {
    h.request().map(|r| (r.turn, r.attempt, r.closing))
}

#[test]
fn text_with_an_unknown_stop_reason_is_a_failed_attempt_that_names_the_word() {
    let mut h = Harness::inferring(terms(ToolPolicy::Optional));
    h.answer_with(unended(text("The first of the three"), Some("weather")));
    assert_eq!(note(&h).as_deref(), Some("unknown stop reason: weather"));
    assert_eq!(asked(&h), Some((1, 2, None)));
    assert!(h.request().unwrap().notices.is_empty());
    h.answer_with(unended(text("The first"), None));
    assert_eq!(note(&h).as_deref(), Some("no stop reason"));
    assert!(
        h.run
            .conversation()
            .iter()
            .all(|m| !m.content.contains("first"))
    );
    h.answer_with(unended(text("The first"), Some("weather")));
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
}

#[test]
fn whole_calls_run_whatever_the_stop_reason() {
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    h.answer_with(unended(calls(&["read"]), Some("weather")))
        .run_tools();
    assert_eq!(h.observations(), ["MIT"]);
    h.answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_WITH_TOOLS (final_message)");
}

#[test]
fn in_the_closing_turn_text_with_an_unknown_stop_reason_answers_nothing_and_a_report_does() {
    let last = || Terms {
        max_turns: 1,
        ..terms(ToolPolicy::Optional)
    };
    let beside = AgentMessage {
        content: "It is".to_owned(),
        ..calls(&["read"])
    };
    let mut h = Harness::inferring(last());
    h.answer_with(unended(beside.clone(), Some("weather")));
    assert_eq!(asked(&h).map(|a| a.1), Some(2));
    h.answer(beside);
    assert_eq!(h.end(), "COMPLETED_CHAT_ONLY (synthesis)");
    let report = AgentMessage {
        content: "Here:".to_owned(),
        tool_calls: vec![call(
            "f",
            FINAL_REPORT,
            r#"{"format":"markdown","report_content":"MIT"}"#,
        )],
        ..text("")
    };
    let mut h = Harness::inferring(reporting(last()));
    h.answer_with(unended(report, Some("weather")));
    assert_eq!(h.end(), "COMPLETED_CHAT_ONLY (final_report)");
}

#[test]
fn two_notices_about_plain_text_bring_the_closing_turn() {
    let terms = || Terms {
        max_attempts_per_turn: 3,
        ..reporting(terms(ToolPolicy::Optional))
    };
    let closing = Some((2, 1, Some(ClosingReason::PlainText)));
    let mut h = Harness::inferring(terms());
    h.answer(text("MIT"));
    assert_eq!(asked(&h), Some((1, 2, None)));
    h.answer(text("MIT"));
    assert_eq!(asked(&h), closing);
    h.answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_CHAT_ONLY (text_fallback)");
    // A fault between them brings no notice, and another answer breaks the row.
    let mut h = Harness::inferring(terms());
    h.answer(text("MIT")).fail(ProviderFaultClass::Network);
    h.wait().answer(text("MIT"));
    assert_eq!(asked(&h), closing);
    let mut h = Harness::inferring(terms());
    h.answer(text("MIT")).answer(calls(&["read"])).run_tools();
    h.answer(text("MIT"));
    assert_eq!(asked(&h), Some((2, 2, None)));
}

#[test]
fn plain_text_without_the_required_proof_brings_no_closing_turn() {
    let mut h = Harness::inferring(Terms {
        max_attempts_per_turn: 3,
        token_gate: false,
        tool_transport: ToolTransport::Native,
        ..reporting(terms(ToolPolicy::Required))
    });
    h.answer(text("MIT")).answer(text("MIT"));
    assert_eq!(asked(&h), Some((1, 3, None)));
}

#[test]
fn the_problems_of_a_call_are_named_together_with_what_the_tool_takes() {
    let mut h = Harness::inferring(terms(ToolPolicy::Optional));
    h.answer(AgentMessage {
        tool_calls: vec![call("c1", "read", r#"{"paht":"a"}"#)],
        ..text("")
    });
    let said = h.observations();
    let said = said.first().unwrap();
    assert!(said.contains("additionalProperties: "), "{said}");
    assert!(
        said.contains("; the arguments: required: \"path\" is a required property"),
        "{said}"
    );
    assert!(said.ends_with(". Arguments: {path: string})"), "{said}");
}
