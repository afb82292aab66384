//! Leaving a workflow and going on with it, as another process does: from its entries alone.

use std::collections::VecDeque;
use std::sync::Arc;

use super::checkpoint::CheckpointRecord;
use super::memory::Memory;
use super::testing::*;
use super::*;
use crate::contract::FailureStrategy::FailFast;
use crate::contract::WorkflowDefinition;
use crate::message::Digest;

/// A sequence, a group and a loop, in which later steps are given what earlier ones came to.
fn every_shape() -> WorkflowDefinition {
    let members = vec![given("x", "${steps.a.output}"), prompt("y")];
    let item = given("z", "${item}: ${steps.g.output}");
    let steps = vec![
        given("a", "${input}"),
        group("g", 2, FailFast, members),
        each("each", "[1, 2]", vec![item]),
        given("last", "${steps.a.output} ${steps.each.output}"),
    ];
    workflow(steps, vec![])
}

fn numbers(driven: &Driven) -> VecDeque<u64> {
    let begun = driven.begun().into_iter();
    begun.map(|(number, _)| number).collect()
}

/// Completes the run that was begun first; false where none is open.
fn goes_on(driven: &mut Driven, open: &mut VecDeque<u64>) -> bool {
    let Some(number) = open.pop_front() else {
        return false;
    };
    driven.ok(number, &format!("out {number}"));
    open.extend(numbers(driven));
    true
}

/// 003/INV-CP-001
#[test]
fn a_checkpoint_follows_from_the_entries_up_to_it_alone() {
    let changes: [fn(&mut CheckpointRecord); 5] = [
        |stated| stated.completed_step_id = id("other"),
        |stated| stated.context.entries += 1,
        |stated| stated.memory_snapshot = Memory::default(),
        |stated| stated.step_index = Some(9),
        |stated| stated.step_outputs.digest = Digest::ZERO,
    ];
    let mut fold = WorkflowFold::new(Arc::new(every_shape()));
    let mut driven = Driven::new(every_shape(), "given");
    let (mut open, mut taken, mut stated) = (numbers(&driven), 0, Vec::new());
    loop {
        for (action, event) in recorded(&driven.drafts[taken..]) {
            if let Some(checkpoint) = &action.checkpoint {
                let members = serde_json::to_value(checkpoint).unwrap();
                let names: Vec<_> = members.as_object().unwrap().keys().cloned().collect();
                let expected = [
                    "completedStepId",
                    "context",
                    "memorySnapshot",
                    "stepIndex",
                    "stepOutputs",
                ];
                assert_eq!(names, expected);
                // No member is stated that the entries do not give.
                for change in changes {
                    let mut other = action.clone();
                    change(other.checkpoint.as_mut().unwrap());
                    let fault = fold.clone().take(&other, event.as_ref()).unwrap_err();
                    assert_eq!(
                        (fault.seq, fault.field.as_str()),
                        (action.seq, "checkpoint")
                    );
                }
                let index = checkpoint.step_index.unwrap();
                stated.push((index, checkpoint.completed_step_id.to_string()));
            }
            fold.take(&action, event.as_ref()).unwrap();
        }
        taken = driven.drafts.len();
        // What the digests are of is there as well: inputs, outputs, and all that is under way.
        let folded = fold.clone().into_workflow().unwrap();
        assert!(folded.stands_as(&driven.machine), "{taken}");
        if !goes_on(&mut driven, &mut open) {
            break;
        }
    }
    let stated: Vec<_> = stated.iter().map(|(at, id)| (*at, id.as_str())).collect();
    let expected = [
        (0, "a"),
        (0, "x"),
        (1, "y"),
        (1, "z"),
        (2, "z"),
        (3, "last"),
    ];
    assert_eq!(stated, expected);
}

/// 003/INV-CP-001: no other entry before the checkpoint is needed than entry 0 and those of the outputs that it names.
#[test]
fn a_checkpoint_gives_the_machine_without_the_entries_before_it() {
    let mut driven = Driven::new(every_shape(), "given");
    let (mut open, mut resumed) = (numbers(&driven), 0);
    while goes_on(&mut driven, &mut open) && driven.outcome().is_none() {
        let entries = stored(&driven.drafts);
        let mut all = entries.iter();
        let last = all.rposition(|entry| entry.action.checkpoint.is_some());
        let last = last.unwrap();
        let record = entries[last].action.checkpoint.as_ref().unwrap();
        let places = &record.step_outputs.runs;
        let is_named = |seq: u64| places.iter().any(|place| place.entry == seq);
        let mut resume = WorkflowResume::new(Arc::new(every_shape()));
        for (at, entry) in entries.iter().enumerate() {
            let seq = entry.action.seq;
            if at >= last || seq == 0 || is_named(seq) {
                // What an earlier entry decided is not read.
                let mut entry = entry.clone();
                if at < last {
                    entry.action.begun.clear();
                    entry.action.state_digest = Digest::ZERO;
                }
                resume.take(entry);
            }
        }
        let machine = resume.finish().unwrap().unwrap();
        assert!(machine.stands_as(&driven.machine), "{last}");
        resumed += 1;
    }
    assert_eq!(resumed, 5);
}

/// 003/INV-CP-001: what is saved is checked against the digests of its entry before it is used.
#[test]
fn a_checkpoint_that_does_not_fit_its_entry_gives_no_machine() {
    let mut driven = Driven::new(every_shape(), "given");
    let mut open = numbers(&driven);
    for _ in 0..3 {
        assert!(goes_on(&mut driven, &mut open));
    }
    let changes: [fn(&mut CheckpointRecord); 5] = [
        |stated| stated.context.entries += 1,
        |stated| stated.context.started = Digest::ZERO,
        |stated| stated.memory_snapshot = Memory::default(),
        |stated| stated.step_outputs.digest = Digest::ZERO,
        |stated| stated.step_outputs.runs.clear(),
    ];
    for change in changes {
        let mut resume = WorkflowResume::new(Arc::new(every_shape()));
        for mut entry in stored(&driven.drafts) {
            if let Some(record) = &mut entry.action.checkpoint {
                change(record);
            }
            resume.take(entry);
        }
        let fault = resume.finish().unwrap_err();
        assert_eq!(fault.field, "checkpoint");
    }
}

/// 003/INV-CP-002
#[test]
fn a_workflow_of_its_entries_goes_on_after_its_checkpoint_as_one_that_never_stopped() {
    let definition = every_shape();
    let mut driven = Driven::new(definition.clone(), "given");
    let (mut open, mut checkpoints) = (numbers(&driven), 0);
    while goes_on(&mut driven, &mut open) {
        let entry = driven.drafts.iter().rev().find(|one| one.event.is_some());
        let checkpoint = entry.unwrap().action.checkpoint.as_ref().unwrap();
        checkpoints += 1;
        let next = usize::try_from(checkpoint.step_index.unwrap() + 1).unwrap();
        let Some(after) = definition.steps.get(next) else {
            assert!(driven.outcome().is_some());
            break;
        };
        let mut resumed = Driven::resumed(&definition, &driven.drafts);
        resumed.take(WorkflowEventKind::Resumed);
        for (_, place) in resumed.begun() {
            let first = place.split(['/', '.']).next();
            assert_eq!(first, Some(after.id.as_str()), "{place}");
        }
        // What had ended is not begun again, and what comes next is given what it came to.
        assert_eq!(numbers(&resumed), open);
        let (mut never, mut open, mut again) = (driven.clone(), open.clone(), open.clone());
        while goes_on(&mut never, &mut open) {
            goes_on(&mut resumed, &mut again);
            assert_eq!(resumed.effects(), never.effects(), "{next}");
        }
        assert_eq!(resumed.outcome().as_deref(), Some("COMPLETED (all_steps)"));
        assert_eq!(resumed.machine.output(), never.machine.output());
    }
    assert_eq!(checkpoints, 6);
}

#[test]
fn nothing_is_begun_between_a_suspension_and_the_resume() {
    let mut driven = Driven::new(workflow(vec![prompt("a"), prompt("b")], vec![]), "");
    driven.take(WorkflowEventKind::Suspended);
    assert_eq!(driven.ok(1, "").begun(), []);
    assert_eq!(driven.outcome(), None);
    driven.take(WorkflowEventKind::Resumed);
    assert_eq!(driven.begun(), places(&[(2, "b")]));
}

#[test]
fn what_was_under_way_is_begun_again_under_its_number() {
    let held = group("g", 2, FailFast, vec![prompt("a"), prompt("b")]);
    let mut driven = Driven::new(workflow(vec![held], vec![]), "");
    let first = driven.given();
    driven.take(WorkflowEventKind::Resumed);
    assert_eq!(driven.begun(), places(&[(1, "g/a"), (2, "g/b")]));
    assert_eq!(driven.given(), first);
}

/// The next process is asked again, at once and after the order of the run.
#[test]
fn what_was_to_end_when_its_process_was_lost_is_to_end_in_the_next_one() {
    let held = group("g", 2, FailFast, vec![prompt("a"), prompt("b")]);
    let mut driven = Driven::new(workflow(vec![held], vec![]), "");
    driven.take(WorkflowEventKind::StopRequested);
    driven.take(WorkflowEventKind::Resumed);
    assert_eq!(driven.begun(), places(&[(1, "g/a"), (2, "g/b")]));
    let both = |how| [(1, how), (2, how)];
    assert_eq!(driven.end_requests(), both(EndStep::Stop));
    assert_eq!(driven.drafts.last().unwrap().action.ending, [1, 2]);
    // The strongest request is the one that is repeated.
    driven.take(WorkflowEventKind::StopRequested);
    driven.take(WorkflowEventKind::Resumed);
    assert_eq!(driven.end_requests(), both(EndStep::Now));
    let mut failed = Driven::new(
        workflow(
            vec![group("g", 2, FailFast, vec![prompt("a"), prompt("b")])],
            vec![],
        ),
        "",
    );
    failed.fails(1).take(WorkflowEventKind::Resumed);
    assert_eq!(failed.end_requests(), [(2, EndStep::Now)]);
}
