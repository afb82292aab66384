//! The detail of a workflow's end that no step run gives: the limit, the step, and the figure.

use super::testing::*;
use super::*;
use crate::contract::{FailureStrategy, Test, WorkflowDefinition};

/// The outcome, and why.
fn detail(definition: WorkflowDefinition, happens: &dyn Fn(&mut Driven)) -> (String, String) {
    let mut driven = Driven::new(definition, "");
    happens(&mut driven);
    let outcome = driven.outcome().unwrap();
    (outcome, driven.view().detail.unwrap_or_default())
}

#[test]
fn every_end_by_a_limit_or_a_person_names_limit_step_and_figure() {
    let mut two = workflow(vec![prompt("a"), prompt("b")], vec![]);
    two.max_steps = 1;
    let (outcome, why) = detail(two, &|driven| {
        driven.ok(1, "");
    });
    assert_eq!(outcome, "FAILED (max_steps)");
    assert_eq!(why, "b failed: limits.max_steps: 1 of 1 steps were begun");

    let items = each("all", "[1, 2, 3, 4]", vec![prompt("a")]);
    let (outcome, why) = detail(workflow(vec![items], vec![]), &|_| {});
    assert_eq!(outcome, "FAILED (max_iterations)");
    assert_eq!(why, "all failed: max_iterations: 4 items, and at most 3");

    let asks = condition("a", Test::NotEquals("done".to_owned()));
    let again = while_("more", asks, vec![prompt("a")]);
    let (outcome, why) = detail(workflow(vec![again], vec![]), &|driven| {
        driven.ok(1, "not yet").ok(2, "not yet");
    });
    assert_eq!(outcome, "FAILED (max_iterations)");
    assert_eq!(
        why,
        "more failed: max_iterations: the condition holds after 2 of 2 iterations"
    );

    let list = each("all", "no list", vec![prompt("a")]);
    let (outcome, why) = detail(workflow(vec![list], vec![]), &|_| {});
    assert_eq!(outcome, "FAILED (not_a_list)");
    assert_eq!(why, "all failed: what for_each goes over is no JSON array");

    let one = || workflow(vec![prompt("a"), prompt("b")], vec![]);
    let most = one().total_timeout_ms;
    let (outcome, why) = detail(one(), &|driven| {
        driven.take_at(most, WorkflowEventKind::TimerFired);
        driven.fails(1);
    });
    assert_eq!(outcome, "FAILED (total_timeout)");
    let max_steps = one().max_steps;
    assert_eq!(
        why,
        format!(
            "limits.total_timeout_ms: {most} of {most} ms are over; 1 of {max_steps} steps begun, under way: a"
        )
    );

    for (event, code, says) in [
        (
            WorkflowEventKind::StopRequested,
            "stop",
            "a stop was asked for",
        ),
        (
            WorkflowEventKind::Interrupted,
            "abort",
            "an end at once was asked for",
        ),
    ] {
        let (outcome, why) = detail(one(), &|driven| {
            driven.take(event.clone());
            driven.fails(1);
        });
        assert_eq!(outcome, format!("STOPPED ({code})"));
        assert_eq!(
            why,
            format!("{says}; 1 of {max_steps} steps begun, under way: a")
        );
    }
}

/// The failure itself is why a workflow ended, and not how its compensation ended.
#[test]
fn the_failure_of_a_compensation_is_not_why_a_workflow_ended() {
    let mut definition = workflow(
        vec![prompt("a").undone_by("undo"), prompt("b")],
        vec![prompt("undo")],
    );
    definition.on_failure = FailureStrategy::Rollback;
    let (outcome, why) = detail(definition, &|driven| {
        driven.ok(1, "");
        driven.fails(2);
        driven.fails(3);
    });
    assert_eq!(outcome, "COMPENSATION_FAILED (step_failed)");
    assert!(why.starts_with("b failed: "), "{why}");
}

#[test]
fn an_entry_names_the_step_that_failed_with_it_and_why() {
    let because = |number, reason: &str| {
        let mut failed = result(number, "", Some(StepFailure::Tool));
        if let StepResult::Run(run) = &mut failed {
            run.reason = Some(reason.to_owned());
        }
        ended(number, failed)
    };
    let note = |driven: &Driven| driven.drafts.last().unwrap().action.note.clone();
    let steps = ["bad", "slow", "late"].map(prompt).to_vec();
    let held = group("g", 3, FailureStrategy::FailFast, steps);
    let mut driven = Driven::new(workflow(vec![held], vec![]), "");
    driven.take(because(1, "read_file: NOT_FOUND: there is no x"));
    let expected = "g/bad failed: read_file: NOT_FOUND: there is no x";
    assert_eq!(note(&driven).as_deref(), Some(expected));
    // What was to end has ended; nothing more has failed with it.
    driven.take(because(2, "interrupted"));
    assert_eq!(note(&driven), None);
    // The entry before says that time ran out.
    let mut timed = Driven::new(workflow(vec![prompt("a")], vec![]), "");
    timed.take_at(1_000, WorkflowEventKind::TimerFired);
    timed.take(because(1, "interrupted"));
    assert_eq!(timed.drafts[2].action.note, None);
}
