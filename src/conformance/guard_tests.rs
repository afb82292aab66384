//! Each guard of the machine has a case that ends as it says, and fails without that guard.

use super::case::{Base, Case};
use super::case_row::row_of;
use super::metrics::Tally;
use super::source::Corpus;
use monolith_core::kernel::{Guard, without};

/// Every guard, and a case that needs it.
const REVEALING: &[(Guard, &str)] = &[
    (Guard::Interrupted, "abort/in_flight"),
    (Guard::TotalTimeout, "timeout/one_past_the_limit"),
    (Guard::StepTimeout, "core/step_timeout"),
    (Guard::WaitFits, "rate_limit/wait_past_the_deadline"),
    (Guard::TokensExceeded, "budget/cache_reads_count"),
    (Guard::CostExceeded, "budget/cost_exceeded"),
    (Guard::CallLimit, "budget/max_calls"),
    (Guard::IdenticalCalls, "budget/identical_calls"),
    (Guard::GateBreached, "gate/breached"),
    (
        Guard::ContractMutated,
        "resume/contract_changed_before_the_first_inference",
    ),
    (Guard::MaxResumes, "resume/too_often"),
    (Guard::ForbiddenCall, "core/forbidden_call"),
    (Guard::ToolNotAllowed, "format/outside_name_strict"),
    (Guard::CycleForbidden, "cycle/within_a_batch"),
    (Guard::FlowAsked, "flow/asked"),
    (Guard::FlowDenied, "flow/denied"),
    (Guard::RequiredProof, "session/batch_is_no_proof"),
    (Guard::MalformedEnvelope, "batch/envelope_of_another_call"),
    (Guard::FatalProviderFault, "session/key_refused"),
    (Guard::FormatRetries, "format/malformed_beats_attempts"),
    (Guard::Refused, "attempts/content_filter"),
    (Guard::ProviderAttempts, "session/attempts_3"),
    (
        Guard::RequiredAttempts,
        "session/failed_report_under_required",
    ),
    (Guard::StrictRecovered, "format/recovered_strict"),
    (Guard::StrictRefuses, "session/invalid_calls_strict"),
    (Guard::InvalidTurns, "session/exit_arguments"),
    (Guard::NoTargetLeft, "provider/no_model_found"),
    (Guard::FirstRequestFits, "preflight/first_request_too_large"),
    (Guard::Suspended, "resume/suspended_issues_nothing"),
    (Guard::ExcessCalls, "session/calls_above_the_limit"),
    (
        Guard::ClosingWithholds,
        "session/context_no_tool_after_a_drop",
    ),
    (Guard::StopStartsNothing, "session/stop_while_a_call_runs"),
    (Guard::Stop, "session/stop_while_limited"),
    (Guard::ContextRatio, "session/context_ratio_above"),
    (Guard::ContextFit, "session/context_setting_buffer"),
    (Guard::ResultFit, "session/context_result_above"),
    (Guard::ClosingProof, "synthesis/provider_overflow_unproven"),
    (Guard::ClosingSpent, "session/turns_are_never_passed"),
    (Guard::LastTurn, "session/max_turns_1"),
    (Guard::PlainText, "synthesis/plain_text"),
    (Guard::NextInference, "budget/next_inference"),
    (Guard::NextTokens, "budget/failed_attempts_count"),
    (Guard::NextCost, "budget/cost_first_request"),
    (Guard::AttemptLimit, "session/attempts_1"),
    (Guard::BlankResponse, "session/empty_is_asked_again"),
    (Guard::CutResponse, "session/report_cut_by_length"),
    (Guard::RefusedResponse, "attempts/content_filter"),
    (Guard::UnknownStop, "attempts/unknown_stop_reason"),
    (Guard::ValidateHead, "budget/token_exceeded_before_call"),
    (Guard::ReportAttempts, "session/fallback_fails_to_the_end"),
    (Guard::ReportFailed, "session/failed_report_collapses_turns"),
    (Guard::ReportOnly, "session/prose_is_no_report"),
    (Guard::UnreadableCall, "session/unparsable_call_alone"),
    (Guard::ReportProof, "session/report_without_proof"),
    (Guard::RuleDenies, "approval/rule_denies"),
    (Guard::RuleAsks, "approval/rule_asks"),
    (Guard::FlowAsked, "flow/asked"),
    (Guard::FlowDenied, "flow/denied"),
    (Guard::Approvers, "approval/only_signed_answers_count"),
];

/// Guards of child runs and of what a run inherits, which no case of the corpus plays: the exploration needs each of them
/// (`kernel::tests_mutation`), and real runs show what they do (`tests/it/delegation`, `tests/it/laundering.rs`).
const OF_CHILD_RUNS: &[Guard] = &[
    Guard::DelegationChain,
    Guard::DelegationDepth,
    Guard::DelegationBudget,
    Guard::DelegationReserve,
    Guard::FlowHandedDown,
    Guard::FlowInherited,
    Guard::FlowReport,
    Guard::GrantWorstCase,
];

/// Guards of calls that start while their message arrives: a case hands in whole responses (`kernel::tests_early`, `session::tests::early`).
const OF_STREAMED_CALLS: &[Guard] = &[Guard::EarlyReads, Guard::EarlyUnchanged];

#[test]
fn each_guard_of_the_machine_is_needed_by_a_case() {
    let corpus = Corpus::built_in();
    let base = Base::parse(&corpus.base).unwrap();
    let ends_as_it_says = |id: &str| {
        let source = corpus.cases.iter().find(|case| case.id == id).unwrap();
        let case = Case::parse(id, &source.text);
        row_of(&base, id, case, &mut Tally::default()).ok
    };
    let is_named = |guard: &Guard| {
        let is_elsewhere = OF_CHILD_RUNS.contains(guard) || OF_STREAMED_CALLS.contains(guard);
        is_elsewhere || REVEALING.iter().any(|(revealing, _)| revealing == guard)
    };
    let untold: Vec<&Guard> = Guard::ALL.iter().filter(|guard| !is_named(guard)).collect();
    assert!(untold.is_empty(), "no case is named for {untold:?}");
    for (guard, id) in REVEALING {
        assert!(ends_as_it_says(id), "{id}");
        let kept = without(&[*guard], || ends_as_it_says(id));
        assert!(!kept, "{id} ends as it says without {guard:?}");
    }
}
