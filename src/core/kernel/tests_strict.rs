//! The effects of `strict_mode`: one row for each, strict next to not strict.

use super::testing::*;
use crate::contract::{BATCH, FINAL_REPORT, Terms, ToolPolicy};
use crate::message::{
    AdapterStatus, AgentMessage, FailureCode, ProtocolAdapterResult, ProviderFaultClass, Repair,
    ToolInvocation,
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

const OTHER: &str = "(tool failed: not started: another call of this message is invalid)";
const FLY: &str = "(tool failed: TOOL_NOT_FOUND: fly (nearest: read, write))";

/// Monolith answers an unknown tool with an error that names it, and the run continues (003/INV-TOOL-003).
#[test]
fn beside_an_unknown_name_nothing_runs_under_strict() {
    let unknown = || native(calls(&["read", "fly"]));
    check(true, unknown(), 0, &[OTHER, FLY], "INFER");
    check(false, unknown(), 1, &[FLY], "INFER");
}

/// A call whose arguments do not fit is not executed; its error says where and why (003/INV-TOOL-001).
#[test]
fn beside_invalid_arguments_nothing_runs_under_strict() {
    let rule = "(tool failed: TOOL_VALIDATION_ERROR: /path: type: value is not of type \"string\". Arguments: {path: string})";
    check(true, invalid(), 0, &[OTHER, rule], "INFER");
    check(false, invalid(), 1, &[rule], "INFER");
}

/// The model reads what was wrong, and no format retry is taken: its message stays, and the turn is over.
#[test]
fn an_invalid_turn_stays_in_the_conversation_and_three_in_a_row_end_the_run() {
    for strict in [true, false] {
        let mut h = mode(strict);
        for turn in 1..=3 {
            assert_eq!(h.end(), "INFER");
            assert_eq!(h.request().map(|r| (r.turn, r.attempt)), Some((turn, 1)));
            h.answer(calls(&["fly"]));
            assert_eq!(h.observations().len(), turn as usize);
            assert_eq!(h.run.counters().format_retries, 0);
        }
        assert_eq!(h.end(), "FAILED_VALIDATION (arguments)");
    }
}

#[test]
fn an_authorised_call_resets_the_count_and_nothing_else_does() {
    let reasoning = || AgentMessage {
        reasoning: Some("hm".to_owned()),
        ..text("")
    };
    let mut h = mode(false);
    h.answer(calls(&["fly"])).answer(calls(&["fly"]));
    h.answer(calls(&["read"])).run_tools();
    h.answer(calls(&["fly"])).answer(reasoning());
    h.answer(calls(&["outside"]))
        .fail(ProviderFaultClass::Network)
        .wait();
    h.answer(calls(&["fly"]));
    assert_eq!(h.end(), "INFER");
    h.answer(calls(&["fly"]));
    assert_eq!(h.end(), "FAILED_VALIDATION (arguments)");
}

/// The turn after an invalid one begins one target further.
#[test]
fn invalid_turns_move_the_order_of_the_targets_on() {
    let mut h = Harness::inferring(Terms {
        targets: vec![target("a"), target("b"), target("c")],
        ..terms(ToolPolicy::Optional)
    });
    let asked = |h: &Harness| h.request().map(|r| (r.turn, r.attempt, r.target));
    assert_eq!(asked(&h), Some((1, 1, 0)));
    h.answer(calls(&["fly"]));
    assert_eq!(asked(&h), Some((2, 1, 1)));
    h.fail(ProviderFaultClass::Network);
    assert_eq!(asked(&h), Some((2, 2, 2)));
    h.answer(calls(&["fly"]));
    assert_eq!(asked(&h), Some((3, 1, 2)));
    h.answer(calls(&["read"])).run_tools();
    assert_eq!(asked(&h), Some((4, 1, 0)));
}

/// The terminal shows the tool, the field and the rule.
#[test]
fn the_entry_says_what_was_refused() {
    let mut h = mode(true);
    h.answer_with(invalid());
    let notes = h
        .entries
        .iter()
        .filter_map(|entry| entry.action.note.clone());
    assert_eq!(
        notes.collect::<Vec<_>>(),
        [
            "refused write: TOOL_VALIDATION_ERROR: /path: type: value is not of type \"string\". Arguments: {path: string}"
        ]
    );
}

#[test]
fn the_excerpt_of_a_rejection_is_shown_unless_the_gate_is_closed() {
    let cut = || ProtocolAdapterResult {
        excerpt: Some("{\\\"path".to_owned()),
        ..rejected(FailureCode::ArgsInvalidJson)
    };
    for (token_gate, stood) in [(false, ": {\\\"path"), (true, "")] {
        let mut h = Harness::inferring(Terms {
            token_gate,
            ..terms(ToolPolicy::Required)
        });
        h.answer_with(cut());
        let notices = &h.request().expect("a retry").notices;
        assert_eq!(
            notices[0].content,
            format!(
                "System notice: your last response was rejected: ARGS_INVALID_JSON at /choices/0{stood}. Answer again."
            )
        );
    }
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
    // An unknown name is reported before arguments that cannot be read.
    let mut unknown = unreadable();
    unknown.canonical_message.as_mut().unwrap().tool_calls[1].name = "fly".to_owned();
    check(false, unknown, 1, &[FLY], "INFER");
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
    check(false, native(calls(&["fly"])), 0, &[FLY], "INFER");
    let mut h = mode(false);
    h.answer(calls(&["fly"]));
    assert_eq!(h.request().map(|r| (r.turn, r.attempt)), Some((2, 1)));
}

/// One message may hold 128 calls; what checking them may take is bounded for all of them.
#[test]
fn the_calls_of_a_message_share_the_steps_that_checking_them_may_take() {
    let patterns = (0..900).map(|n| (format!("^(a+)+(b|a){n}$"), serde_json::json!(true)));
    let schema =
        serde_json::json!({"patternProperties": patterns.collect::<serde_json::Map<_, _>>()});
    let mut terms = terms(ToolPolicy::Optional);
    terms.strict_mode = false;
    for tool in &mut terms.tools {
        tool.input_schema = schema.clone();
    }
    let long = serde_json::json!({"k": "x".repeat(200)}).to_string();
    let of = |count: usize| {
        let mut h = Harness::inferring(terms.clone());
        let calls = (0..count).map(|n| call(&format!("c{n}"), "read", &long));
        h.answer(AgentMessage {
            tool_calls: calls.collect(),
            ..text("")
        });
        h.run_tools();
        let observed = h.observations();
        let of_size = |text: &&String| text.contains("are left for the calls of this message");
        (observed.len(), observed.iter().filter(of_size).count())
    };
    assert_eq!(of(1), (1, 0));
    let (observed, refused) = of(64);
    assert_eq!(observed, 64);
    assert!((1..64).contains(&refused), "{refused} refused");
}
