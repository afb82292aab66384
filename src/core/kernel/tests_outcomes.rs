//! The six cases of 002 §9 and the orders of semantics §2, on the machine alone.

use super::testing::*;
use crate::contract::ToolPolicy;
use crate::message::{FailureCode, ProviderFaultClass, ToolOutcome};

#[test]
fn a_valid_call_and_an_answer_complete_with_tools() {
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    h.answer(calls(&["read"])).run_tools().answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_WITH_TOOLS (final_message)");
}

#[test]
fn malformed_twice_ends_malformed() {
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    h.answer_with(rejected(FailureCode::ArgsInvalidJson));
    assert_eq!(h.end(), "INFER");
    h.answer_with(rejected(FailureCode::ArgsInvalidJson));
    assert_eq!(
        h.end(),
        "FAILED_PROTOCOL_MALFORMED (format_retries_exhausted)"
    );
}

#[test]
fn narration_under_required_is_no_tools_and_withheld() {
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    h.answer(text("I have read the file."));
    assert_eq!(h.end(), "FAILED_PROTOCOL_NO_TOOLS (no_call_response)");
    let dump = serde_json::to_string(&h.entries.iter().map(|e| &e.event).collect::<Vec<_>>());
    assert!(!dump.unwrap().contains("I have read"));
}

#[test]
fn a_call_under_forbidden_violates_and_nothing_runs() {
    let mut h = Harness::inferring(terms(ToolPolicy::Forbidden));
    h.answer(calls(&["read"]));
    assert_eq!(h.end(), "FAILED_CONTRACT_VIOLATION (forbidden_call)");
    assert_eq!(h.run.counters().executed, 0);
}

#[test]
fn a_timed_out_call_is_an_observation_and_no_proof() {
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    h.answer(calls(&["read"]));
    let call = h.started_calls()[0];
    h.push(tool(call, ToolOutcome::TimedOut));
    assert_eq!(h.observations(), ["(tool failed: timeout)"]);
    let mut good = h.clone();
    h.answer(text("done"));
    assert_eq!(h.end(), "FAILED_PROTOCOL_NO_TOOLS (no_call_response)");
    good.answer(calls(&["read"]))
        .run_tools()
        .answer(text("done"));
    assert_eq!(good.end(), "COMPLETED_WITH_TOOLS (final_message)");
}

#[test]
fn provider_errors_only_exhaust_the_attempts() {
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    for _ in 0..3 {
        h.fail(ProviderFaultClass::Network);
    }
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
}
