//! What `strict_mode` changes: one row for each effect, strict beside not strict.

use super::testing::*;
use crate::contract::{BATCH, FINAL_REPORT, Terms, ToolPolicy};
use crate::message::{
    AdapterStatus, AgentMessage, FailureCode, ProtocolAdapterResult, Repair, ToolInvocation,
};

fn mode(strict_mode: bool) -> Harness {
    Harness::inferring(Terms {
        strict_mode,
        ..terms(ToolPolicy::Optional)
    })
}

/// The run after an answer: what was started, and what was said to the model instead.
#[track_caller]
fn check(strict: bool, result: ProtocolAdapterResult, started: usize, said: &[&str], end: &str) {
    let mut h = mode(strict);
    h.answer_with(result);
    assert_eq!(h.started_calls().len(), started, "calls started");
    h.run_tools();
    let failed: Vec<String> = h
        .observations()
        .into_iter()
        .filter(|text| text.starts_with("(tool failed"))
        .collect();
    assert_eq!(failed, said);
    assert_eq!(h.end(), end);
}

fn recovered(message: AgentMessage) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        status: AdapterStatus::Recovered,
        ..native(message)
    }
}

fn invalid() -> ProtocolAdapterResult {
    let calls = vec![
        call("c1", "read", "{\"path\":\"a\"}"),
        call("c2", "write", "{\"path\":1}"),
    ];
    native(AgentMessage {
        tool_calls: calls,
        ..text("")
    })
}

#[test]
fn a_recovered_message_is_a_rejected_one_under_strict() {
    check(true, recovered(text("MIT")), 0, &[], "INFER");
    let done = "COMPLETED_CHAT_ONLY (final_message)";
    check(false, recovered(text("MIT")), 0, &[], done);
    let mut h = mode(true);
    h.answer_with(recovered(text("MIT")));
    let notices = &h.request().expect("a retry").notices;
    let said: Vec<&str> = notices.iter().map(|n| n.content.as_str()).collect();
    assert_eq!(
        said,
        ["System notice: your last response was rejected: RECOVERED_IN_STRICT at /. Answer again."]
    );
    h.answer_with(recovered(text("MIT")));
    let malformed = "FAILED_PROTOCOL_MALFORMED (format_retries_exhausted)";
    assert_eq!(h.end(), malformed);
}

#[test]
fn an_unknown_name_rejects_the_whole_message_under_strict() {
    let unknown = || native(calls(&["read", "fly"]));
    check(true, unknown(), 0, &[], "INFER");
    let said = ["(tool failed: TOOL_NOT_FOUND: fly)"];
    check(false, unknown(), 1, &said, "INFER");
    let mut h = mode(true);
    h.answer_with(unknown()).answer_with(unknown());
    assert_eq!(h.end(), "FAILED_VALIDATION (arguments)");
}

#[test]
fn invalid_arguments_reject_the_whole_message_under_strict() {
    check(true, invalid(), 0, &[], "INFER");
    let mut h = mode(true);
    h.answer_with(invalid());
    let notice = &h.request().expect("a retry").notices[0].content;
    assert!(notice.contains("TOOL_VALIDATION_ERROR at /tool_calls/1/arguments/path"));
    h.answer_with(invalid());
    assert_eq!(h.end(), "FAILED_VALIDATION (arguments)");

    let mut h = mode(false);
    h.answer_with(invalid());
    assert_eq!(h.started_calls().len(), 1);
    h.run_tools();
    let said = h.observations();
    assert_eq!(said[0], "MIT");
    assert!(said[1].starts_with("(tool failed: TOOL_VALIDATION_ERROR: /path: "));
}

/// The adapter keeps a call that it cannot read only beside one that it can, and says so by a recovered message.
#[test]
fn a_call_that_cannot_be_read_is_answered_and_the_others_run_but_under_strict() {
    let unreadable = || {
        let mut message = calls(&["read", "write"]);
        message.tool_calls[1].fault = Some(FailureCode::ArgsNotObject);
        recovered(message)
    };
    check(true, unreadable(), 0, &[], "INFER");
    let said = ["(tool failed: arguments are not valid JSON)"];
    check(false, unreadable(), 1, &said, "INFER");
    // A name says more than what stands beside it.
    let mut unknown = unreadable();
    unknown.canonical_message.as_mut().unwrap().tool_calls[1].name = "fly".to_owned();
    check(
        false,
        unknown,
        1,
        &["(tool failed: TOOL_NOT_FOUND: fly)"],
        "INFER",
    );
}

/// Whatever a message is repaired from is in the record: while the gate is closed none of it may be seen.
#[test]
fn what_a_repair_tells_is_held_back_while_the_gate_is_closed_and_shown_when_it_opens() {
    let terms = Terms {
        strict_mode: false,
        token_gate: true,
        ..reporting(terms(ToolPolicy::Required))
    };
    let h = Harness::inferring(terms);
    let unread = |name, arguments| ToolInvocation {
        fault: Some(FailureCode::ArgsInvalidJson),
        ..call("c", name, arguments)
    };
    let report = call("c", FINAL_REPORT, "{\"report_content\":\"MIT\"}");
    for (what, content, asked, gated) in [
        ("an unread report", "", unread(FINAL_REPORT, "{}"), true),
        ("a repaired report", "", report, true),
        ("an unread call", "", unread("read", "{}"), true),
        ("an unknown tool", "MIT", call("c", "fly", "{}"), true),
        (
            "a bad argument",
            "MIT",
            call("c", "write", "{\"path\":1}"),
            true,
        ),
        ("a batch", "", call("c", BATCH, "{\"calls\":[]}"), true),
        (
            "a good call",
            "",
            call("c", "read", "{\"path\":\"a\"}"),
            false,
        ),
    ] {
        let message = AgentMessage {
            tool_calls: vec![asked],
            ..text(content)
        };
        let result = ProtocolAdapterResult {
            repair: Some(Repair {
                original: "{'say':'MIT'}".to_owned(),
                repaired: "{\"say\":\"MIT\"}".to_owned(),
                steps: vec!["/tool_calls/0: quotes_replaced".to_owned()],
            }),
            ..recovered(message)
        };
        let admitted = h.run.admit(result);
        assert_eq!(admitted.gated, gated, "{what}");
        let recorded = serde_json::to_string(&admitted.result).unwrap();
        assert_eq!(recorded.contains("MIT"), !gated, "{what}: {recorded}");
        let repair = admitted.result.repair.as_ref().expect("the steps stay");
        assert_eq!(repair.steps, ["/tool_calls/0: quotes_replaced"], "{what}");
        // What was held back is kept, and admitting the record again changes nothing.
        let both = "{'say':'MIT'}{\"say\":\"MIT\"}";
        let kept = admitted.withheld.as_deref();
        assert_eq!(kept.is_some_and(|text| text.ends_with(both)), gated);
        let again = h.run.admit(admitted.result.clone());
        assert_eq!((again.result, again.withheld), (admitted.result, None));
    }
}

#[test]
fn a_repair_that_is_held_back_is_no_word_of_the_message() {
    let terms = Terms {
        strict_mode: false,
        token_gate: true,
        ..terms(ToolPolicy::Required)
    };
    let h = Harness::inferring(terms);
    for (content, is_blank) in [("", true), (" \n", true), ("MIT", false)] {
        let message = AgentMessage {
            content: content.to_owned(),
            ..calls(&["fly"])
        };
        let result = ProtocolAdapterResult {
            repair: Some(Repair {
                original: "{'a':1}".to_owned(),
                repaired: "{\"a\":1}".to_owned(),
                steps: Vec::new(),
            }),
            ..recovered(message)
        };
        let held = h.run.admit(result).result.withheld.expect("held back");
        assert_eq!(held.blank, is_blank, "{content:?}");
    }
}

#[test]
fn a_tool_outside_is_a_violation_under_strict() {
    let outside = || native(calls(&["read", "outside"]));
    let violated = "FAILED_CONTRACT_VIOLATION (tool_not_allowed)";
    let cut = ["(tool failed: not started: step cut short)"; 2];
    check(true, outside(), 0, &cut, violated);
    let said = ["(tool failed: TOOL_NOT_ALLOWED: outside)"];
    check(false, outside(), 1, &said, "INFER");
}

#[test]
fn a_message_with_nothing_to_run_is_answered_and_the_turn_counts() {
    let said = ["(tool failed: TOOL_NOT_FOUND: fly)"];
    check(false, native(calls(&["fly"])), 0, &said, "INFER");
    let mut h = mode(false);
    h.answer(calls(&["fly"]));
    assert_eq!(h.request().map(|r| (r.turn, r.attempt)), Some((2, 1)));
}
