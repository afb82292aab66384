//! The machine's rules, one by one.

use std::sync::Arc;

use super::testing::*;
use super::*;
use crate::contract::FailureStrategy::{ContinueOnError, FailFast, Rollback};
use crate::contract::{Step, Test};

const COMPLETED: &str = "COMPLETED (all_steps)";

/// 003/INV-AGT-003
#[test]
fn steps_are_done_in_the_order_of_the_definition() {
    let steps = vec![prompt("z"), prompt("a"), prompt("m")];
    let mut driven = Driven::new(workflow(steps, vec![]), "");
    assert_eq!(driven.begun(), places(&[(1, "z")]));
    assert_eq!(driven.ok(1, "").begun(), places(&[(2, "a")]));
    assert_eq!(driven.ok(2, "").begun(), places(&[(3, "m")]));
    assert_eq!(driven.ok(3, "").begun(), []);
    assert_eq!(driven.outcome().as_deref(), Some(COMPLETED));
}

#[test]
fn a_step_is_given_what_earlier_ones_came_to() {
    let steps = vec![
        given("a", "about ${input}"),
        given("b", "${steps.a.output} and $${input}"),
    ];
    let mut driven = Driven::new(workflow(steps, vec![]), "fish");
    assert_eq!(driven.given(), [StepInput::Prompt("about fish".to_owned())]);
    driven.ok(1, "${input}");
    let expected = StepInput::Prompt("${input} and ${input}".to_owned());
    assert_eq!(driven.given(), [expected]);
}

#[test]
fn one_branch_is_taken_and_the_other_is_not() {
    for (output, expected) in [("yes", "c/t"), ("no", "c/e")] {
        let steps = vec![
            prompt("a"),
            if_(
                "c",
                condition("a", Test::Equals("yes".to_owned())),
                vec![prompt("t")],
                vec![prompt("e")],
            ),
            given("d", "${steps.c.output}"),
        ];
        let mut driven = Driven::new(workflow(steps, vec![]), "");
        assert_eq!(driven.ok(1, output).begun(), places(&[(2, expected)]));
        driven.ok(2, "taken");
        assert_eq!(driven.given(), [StepInput::Prompt("taken".to_owned())]);
        assert_eq!(driven.ok(3, "").outcome().as_deref(), Some(COMPLETED));
    }
}

#[test]
fn a_loop_goes_over_the_items_of_a_list() {
    let steps = vec![
        prompt("list"),
        each(
            "each",
            "${steps.list.output}",
            vec![given("x", "${index}: ${item}")],
        ),
        given("d", "${steps.each.output}"),
    ];
    let mut driven = Driven::new(workflow(steps, vec![]), "");
    // More digits than are calculated with: an item is what was written.
    driven.ok(1, r#" ["one", {"b":1790000000000000001,"a":0.10}] "#);
    assert_eq!(driven.begun(), places(&[(2, "each.1/x")]));
    assert_eq!(driven.given(), [StepInput::Prompt("0: one".to_owned())]);
    driven.ok(2, "first");
    assert_eq!(driven.begun(), places(&[(3, "each.2/x")]));
    let second = StepInput::Prompt(r#"1: {"b":1790000000000000001,"a":0.10}"#.to_owned());
    assert_eq!(driven.given(), [second]);
    driven.ok(3, "second");
    let both = StepInput::Prompt(r#"["first","second"]"#.to_owned());
    assert_eq!(driven.given(), [both]);
}

#[test]
fn a_list_that_is_none_or_too_long_fails_the_step_before_anything_is_begun() {
    for (output, expected) in [
        ("one, two", "FAILED (not_a_list)"),
        ("[1, 2, 3, 4]", "FAILED (max_iterations)"),
    ] {
        let held = each("each", "${steps.list.output}", vec![prompt("x")]);
        let mut driven = Driven::new(workflow(vec![prompt("list"), held], vec![]), "");
        driven.ok(1, output);
        assert_eq!(driven.begun(), []);
        assert_eq!(driven.outcome().as_deref(), Some(expected));
    }
}

#[test]
fn a_while_ends_where_its_condition_does_not_hold_and_fails_at_its_limit() {
    let until = |text: &str| condition("x", Test::NotContains(text.to_owned()));
    let steps = vec![while_("w", until("done"), vec![prompt("x")])];
    let mut driven = Driven::new(workflow(steps.clone(), vec![]), "");
    assert_eq!(driven.begun(), places(&[(1, "w.1/x")]));
    assert_eq!(driven.ok(1, "not yet").begun(), places(&[(2, "w.2/x")]));
    assert_eq!(driven.ok(2, "done").outcome().as_deref(), Some(COMPLETED));
    let mut endless = Driven::new(workflow(steps, vec![]), "");
    endless.ok(1, "no").ok(2, "no");
    let expected = Some("FAILED (max_iterations)");
    assert_eq!(endless.outcome().as_deref(), expected);
}

/// 003/INV-PE-001
#[test]
fn a_group_has_no_more_steps_under_way_than_it_may() {
    let steps = ["a", "b", "c", "d"].map(prompt).to_vec();
    let held = group("g", 2, FailFast, steps);
    let mut driven = Driven::new(workflow(vec![held, prompt("after")], vec![]), "");
    assert_eq!(driven.begun(), places(&[(1, "g/a"), (2, "g/b")]));
    assert_eq!(driven.ok(2, "B").begun(), places(&[(3, "g/c")]));
    assert_eq!(driven.ok(1, "A").begun(), places(&[(4, "g/d")]));
    assert_eq!(driven.ok(4, "D").begun(), []);
    assert_eq!(driven.ok(3, "C").begun(), places(&[(5, "after")]));
}

/// 003/INV-PE-002
#[test]
fn a_step_waits_for_those_that_it_depends_on() {
    let steps = vec![
        given("c", "${steps.a.output}${steps.b.output}").after(&["b"]),
        prompt("a"),
        given("b", "${steps.a.output}").after(&["a"]),
    ];
    let held = group("g", 3, FailFast, steps);
    let mut driven = Driven::new(workflow(vec![held], vec![]), "");
    assert_eq!(driven.begun(), places(&[(1, "g/a")]));
    assert_eq!(driven.ok(1, "A").begun(), places(&[(2, "g/b")]));
    assert_eq!(driven.ok(2, "B").begun(), places(&[(3, "g/c")]));
    assert_eq!(driven.given(), [StepInput::Prompt("AB".to_owned())]);
    assert_eq!(driven.ok(3, "").outcome().as_deref(), Some(COMPLETED));
}

/// 003/INV-PE-003
#[test]
fn fail_fast_ends_what_is_under_way_and_begins_nothing_more() {
    let steps = ["a", "b", "c"].map(prompt).to_vec();
    let held = group("g", 2, FailFast, steps);
    let mut driven = Driven::new(workflow(vec![held, prompt("after")], vec![]), "");
    driven.fails(1);
    assert_eq!(driven.begun(), []);
    assert_eq!(driven.end_requests(), [(2, EndStep::Now)]);
    assert_eq!(driven.outcome(), None);
    driven.fails(2);
    let expected = Some("FAILED (step_failed)");
    assert_eq!(driven.outcome().as_deref(), expected);
}

/// 003/INV-PE-003
#[test]
fn continue_on_error_completes_what_does_not_wait_for_the_failure() {
    let steps = vec![
        prompt("a"),
        prompt("b").after(&["a"]),
        prompt("c"),
        prompt("d").after(&["b"]),
    ];
    let held = group("g", 1, ContinueOnError, steps);
    let last = given("last", "${steps.g.output}");
    let mut driven = Driven::new(workflow(vec![held, last], vec![]), "");
    assert_eq!(driven.fails(1).begun(), places(&[(2, "g/c")]));
    driven.ok(2, "C");
    let gathered = StepInput::Prompt(r#"{"c":"C"}"#.to_owned());
    assert_eq!(driven.given(), [gathered]);
    driven.ok(3, "");
    assert_eq!(driven.outcome().as_deref(), Some("COMPLETED (with_errors)"));
}

fn rolled_back() -> Driven {
    let steps = vec![
        prompt("a").undone_by("undo-a"),
        prompt("b").undone_by("undo-b"),
        prompt("c"),
        prompt("d"),
    ];
    let undo = vec![
        given("undo-a", "undo ${output}"),
        given("undo-b", "undo ${output}"),
    ];
    let held = group("g", 4, Rollback, steps);
    let mut driven = Driven::new(workflow(vec![held], undo), "");
    driven.ok(2, "B").ok(1, "A").ok(3, "C").fails(4);
    driven
}

/// 003/INV-PE-003
#[test]
fn rollback_compensates_what_has_completed_the_last_one_first() {
    let mut driven = rolled_back();
    assert_eq!(driven.begun(), places(&[(5, "g/a/undo-a")]));
    assert_eq!(driven.given(), [StepInput::Prompt("undo A".to_owned())]);
    driven.ok(5, "");
    assert_eq!(driven.begun(), places(&[(6, "g/b/undo-b")]));
    assert_eq!(driven.given(), [StepInput::Prompt("undo B".to_owned())]);
    driven.ok(6, "");
    let expected = Some("COMPENSATED (step_failed)");
    assert_eq!(driven.outcome().as_deref(), expected);
}

#[test]
fn a_failed_compensation_is_an_outcome_of_its_own_and_keeps_no_other_from_being_tried() {
    let mut driven = rolled_back();
    assert_eq!(driven.fails(5).begun(), places(&[(6, "g/b/undo-b")]));
    driven.ok(6, "");
    let expected = Some("COMPENSATION_FAILED (step_failed)");
    assert_eq!(driven.outcome().as_deref(), expected);
}

#[test]
fn a_step_that_completes_after_it_was_told_to_end_is_compensated_too() {
    let steps = vec![prompt("a").undone_by("undo"), prompt("b")];
    let held = group("g", 2, Rollback, steps);
    let mut driven = Driven::new(workflow(vec![held], vec![given("undo", "u")]), "");
    driven.fails(2);
    assert_eq!(driven.end_requests(), [(1, EndStep::Now)]);
    assert_eq!(driven.ok(1, "").begun(), places(&[(3, "g/a/undo")]));
}

#[test]
fn a_compensation_is_given_what_its_own_iteration_came_to() {
    let steps = vec![
        each(
            "each",
            "[1, 2]",
            vec![prompt("make"), prompt("use").undone_by("undo")],
        ),
        prompt("fails"),
    ];
    let undo = given("undo", "${steps.make.output} ${output}");
    let mut definition = workflow(steps, vec![undo]);
    definition.on_failure = Rollback;
    let mut driven = Driven::new(definition, "");
    driven
        .ok(1, "m1")
        .ok(2, "u1")
        .ok(3, "m2")
        .ok(4, "u2")
        .fails(5);
    assert_eq!(driven.given(), [StepInput::Prompt("m2 u2".to_owned())]);
    driven.ok(6, "");
    assert_eq!(driven.given(), [StepInput::Prompt("m1 u1".to_owned())]);
}

#[test]
fn a_stop_asks_what_is_under_way_and_the_second_ends_it() {
    let mut driven = Driven::new(workflow(vec![prompt("a"), prompt("b")], vec![]), "");
    driven.take(WorkflowEventKind::StopRequested);
    assert_eq!(driven.end_requests(), [(1, EndStep::Stop)]);
    assert_eq!(driven.machine.state(), WorkflowState::Stopping);
    driven.take(WorkflowEventKind::StopRequested);
    assert_eq!(driven.end_requests(), [(1, EndStep::Now)]);
    driven.fails(1);
    assert_eq!(driven.outcome().as_deref(), Some("STOPPED (abort)"));
}

/// Completed steps are undone even if a stop comes; the second one ends that, too.
#[test]
fn a_rollback_goes_on_through_a_stop_and_the_second_one_ends_it() {
    let mut driven = rolled_back();
    driven.take(WorkflowEventKind::StopRequested);
    assert_eq!(driven.end_requests(), []);
    // A person is still asked about it, though the workflow is stopping.
    assert_eq!(driven.machine.state(), WorkflowState::Stopping);
    assert!(!driven.view().is_end_requested("w.5"));
    assert_eq!(driven.ok(5, "").begun(), places(&[(6, "g/b/undo-b")]));
    driven.take(WorkflowEventKind::StopRequested);
    assert_eq!(driven.end_requests(), [(6, EndStep::Now)]);
    assert!(driven.view().is_end_requested("w.6"));
}

/// Who stops may want to look first, also where time had run out before.
#[test]
fn a_stop_after_the_time_ran_out_compensates_nothing() {
    let mut definition = workflow(
        vec![prompt("a").undone_by("undo"), prompt("b")],
        vec![prompt("undo")],
    );
    definition.on_failure = Rollback;
    let mut driven = Driven::new(definition, "");
    driven.ok(1, "");
    driven.take_at(1_000, WorkflowEventKind::TimerFired);
    driven.take_at(1_001, WorkflowEventKind::StopRequested);
    assert_eq!(driven.fails(2).begun(), []);
    assert_eq!(driven.outcome().as_deref(), Some("STOPPED (stop)"));
}

#[test]
fn a_stop_that_comes_with_the_last_step_under_way_may_still_see_it_complete() {
    let mut driven = Driven::new(workflow(vec![prompt("a")], vec![]), "");
    driven.take(WorkflowEventKind::StopRequested).ok(1, "A");
    assert_eq!(driven.outcome().as_deref(), Some(COMPLETED));
    assert_eq!(driven.machine.output(), "A");
}

#[test]
fn time_is_a_failure_like_any_other() {
    let mut definition = workflow(
        vec![prompt("a").undone_by("undo"), prompt("b")],
        vec![prompt("undo")],
    );
    definition.on_failure = Rollback;
    let mut driven = Driven::new(definition, "");
    driven.ok(1, "");
    driven.take_at(999, WorkflowEventKind::TimerFired);
    assert_eq!(driven.end_requests(), []);
    driven.take_at(1_000, WorkflowEventKind::TimerFired);
    assert_eq!(driven.end_requests(), [(2, EndStep::Now)]);
    assert_eq!(driven.fails(2).begun(), places(&[(3, "a/undo")]));
    driven.ok(3, "");
    let expected = Some("COMPENSATED (total_timeout)");
    assert_eq!(driven.outcome().as_deref(), expected);
}

#[test]
fn no_more_step_runs_are_begun_than_max_steps() {
    let mut definition = workflow(vec![prompt("a"), prompt("b")], vec![]);
    definition.max_steps = 1;
    let mut driven = Driven::new(definition, "");
    assert_eq!(driven.ok(1, "").begun(), []);
    assert_eq!(driven.outcome().as_deref(), Some("FAILED (max_steps)"));
}

#[test]
fn an_output_that_is_too_large_fails_its_step() {
    let mut driven = Driven::new(workflow(vec![prompt("a")], vec![]), "");
    driven.ok(1, &"x".repeat(MAX_OUTPUT_BYTES + 1));
    assert_eq!(driven.outcome().as_deref(), Some("FAILED (output_size)"));
}

#[test]
fn a_step_that_could_not_begin_says_why_in_its_entry() {
    let mut driven = Driven::new(workflow(vec![prompt("a")], vec![]), "");
    let reason = "the tool server fs is down".to_owned();
    driven.take(ended(1, StepResult::NotBegun(reason)));
    let noted = &driven.drafts[1].action.note;
    assert_eq!(
        noted.as_deref(),
        Some("a failed: the tool server fs is down")
    );
    assert_eq!(driven.outcome().as_deref(), Some("FAILED (step_not_begun)"));
}

#[test]
fn an_event_without_meaning_is_written_down_and_changes_nothing() {
    let mut driven = Driven::new(workflow(vec![prompt("a")], vec![]), "");
    let before = driven.machine.decision_key();
    driven.ok(7, "");
    let entry = driven.drafts.last().unwrap();
    assert_eq!(entry.action.kind, WorkflowEntryKind::Ignored);
    assert_eq!(driven.machine.decision_key(), before);
}

#[test]
fn a_changed_entry_is_named_by_its_number_and_member() {
    let definition = workflow(vec![prompt("a"), prompt("b")], vec![]);
    let mut driven = Driven::new(definition.clone(), "");
    driven.ok(1, "A");
    let mut fold = WorkflowFold::new(Arc::new(definition));
    let first = &driven.drafts[0];
    fold.take(&first.action, first.event.as_ref()).unwrap();
    let mut second = driven.drafts[1].clone();
    second.action.counters.completed = 7;
    let fault = fold.take(&second.action, second.event.as_ref());
    let fault = fault.unwrap_err();
    assert_eq!((fault.seq, fault.field.as_str()), (1, "counters"));
}

/// The kinds of steps that can enclose a step, each so that it is done once.
const AROUND: [&str; 7] = [
    "if",
    "else",
    "for_each",
    "while",
    "failFast",
    "continueOnError",
    "rollback",
];

/// A step of that kind and name around another one.
fn around(kind: &str, name: &str, inside: Step) -> Step {
    let ran = |ran| condition("p", Test::Succeeded(ran));
    let inner = inside.id.to_string();
    let held = vec![inside];
    match kind {
        "if" => if_(name, ran(true), held, vec![]),
        "else" => {
            let other = vec![prompt(&format!("not-{name}"))];
            if_(name, ran(false), other, held)
        }
        "for_each" => each(name, "[1]", held),
        // Its output has the word once it was done.
        "while" => {
            let until = condition(&inner, Test::NotContains("done".to_owned()));
            while_(name, until, held)
        }
        "failFast" => group(name, 2, FailFast, held),
        "continueOnError" => group(name, 2, ContinueOnError, held),
        _ => group(name, 2, Rollback, held),
    }
}

/// 003/INV-PE-003
#[test]
fn what_stands_around_a_group_with_errors_completes_and_has_not_succeeded() {
    let gathers = || group("g", 2, ContinueOnError, vec![prompt("a"), prompt("b")]);
    let mut nestings: Vec<(String, Step)> = Vec::new();
    for outer in AROUND {
        nestings.push((outer.to_owned(), around(outer, "outer", gathers())));
        for middle in AROUND {
            let inside = around(middle, "middle", gathers());
            let nesting = format!("{outer} around {middle}");
            nestings.push((nesting, around(outer, "outer", inside)));
        }
    }
    for (nesting, step) in nestings {
        for fails in [false, true] {
            let succeeded = condition("outer", Test::Succeeded(true));
            let last = if_("q", succeeded, vec![prompt("yes")], vec![prompt("no")]);
            let steps = vec![prompt("p"), step.clone(), last];
            let mut driven = Driven::new(workflow(steps, vec![]), "");
            driven.ok(1, "");
            if fails {
                driven.fails(2);
            } else {
                driven.ok(2, "");
            }
            driven.ok(3, "done");
            let (place, expected) = if fails {
                ("q/no", "COMPLETED (with_errors)")
            } else {
                ("q/yes", "COMPLETED (all_steps)")
            };
            assert_eq!(driven.begun(), places(&[(4, place)]), "{nesting}");
            let outcome = driven.ok(4, "").outcome();
            assert_eq!(outcome.as_deref(), Some(expected), "{nesting}");
        }
    }
}
