//! The metrics of 002 Phase 1 over single cases of the corpus.

use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::drive::play;
use super::metrics::{Metrics, Tally};
use super::source::Corpus;

/// The metrics of one case.
fn metrics_of(id: &str) -> Metrics {
    let corpus = Corpus::built_in();
    let base = Base::parse(&corpus.base).unwrap();
    let source = corpus.cases.iter().find(|source| source.id == id).unwrap();
    let case = Case::parse(id, &source.text).unwrap();
    let BringUp::Made(made) = bring_up(id, &base, &case).unwrap() else {
        panic!("{id} has no contract");
    };
    let mut tally = Tally::default();
    tally.add(play(id, &case, *made).unwrap().facts());
    tally.metrics()
}

/// 002/6.baseline.5: the closing turn of the last allowed turn counts, that of a full context does not.
#[test]
fn a_run_that_its_closing_turn_answers_is_a_max_step_exit() {
    for (id, expect) in [
        ("synthesis/max_turns", 1),
        ("synthesis/one_turn_optional", 1),
        ("synthesis/ratio_tripped", 0),
        ("core/valid_call", 0),
    ] {
        assert_eq!(metrics_of(id).max_turns_exits, expect, "{id}");
    }
}

/// 002/6.baseline.1: a call that was executed and failed is no run without a call.
#[test]
fn a_proof_that_did_not_succeed_is_no_run_without_a_call() {
    for (id, expect) in [
        ("core/narration", 1),
        ("proof/failing_calls_must_succeed", 0),
    ] {
        let metrics = metrics_of(id);
        assert_eq!(metrics.required_runs, 1, "{id}");
        assert_eq!(metrics.required_without_call, expect, "{id}");
    }
}
