//! Calls: of batches, approved ones, lost ones.

use std::sync::Arc;

use super::Golden;
use crate::kernel::{
    Action, EffectRecord, EntryKind, Event, EventKind, LostEffect, State, ToolReturned,
};
use crate::message::{AgentMessage, CallSeq, Digest, Role, ToolOutcome, Withheld};
use crate::transcript::sample;
use crate::view::{ApprovalEnd, Call, CallEnd, Entry, ReportFault, RunView};

fn call(view: &RunView, number: u64) -> &Call {
    view.call(CallSeq(number)).unwrap()
}

#[test]
fn the_parts_of_a_batch_are_calls_with_arguments_of_their_own() {
    let view = Golden::of("session.batch").whole();
    let calls = view.calls().values();
    let parts = calls.map(|call| (call.name.as_str(), call.arguments.as_str()));
    assert_eq!(
        parts.collect::<Vec<_>>(),
        [("read_file", "{\"path\":\"LICENSE\"}"), ("clock", "{}")]
    );
    let first = call(&view, 1);
    let batch = first.batch.as_deref().unwrap();
    assert_eq!(first.id, format!("{batch}/1"));
    assert_eq!(call(&view, 2).id, format!("{batch}/2"));
    assert_eq!(
        view.requested_calls(),
        1,
        "a batch is asked for as one call"
    );
}

#[test]
fn a_call_that_waits_has_its_arguments_before_it_starts() {
    let golden = Golden::of("approval.given");
    let mut waited = false;
    for count in 1..=golden.entries.len() {
        let view = golden.view(count);
        if let Some((number, hash)) = view.approvals().awaited() {
            waited = true;
            let call = view.call(number).unwrap();
            assert!(!call.is_started() && !call.arguments.is_empty());
            assert_eq!(Digest::of(call.arguments.as_bytes()), hash);
        }
    }
    assert!(waited);
    let view = golden.whole();
    assert_eq!(view.approvals().awaited(), None);
    let call = call(&view, 1);
    assert_eq!(call.approval, Some(ApprovalEnd::Allowed));
    assert_eq!(call.executions.len(), 1);
}

fn take(view: &mut RunView, at_ms: u64, event: EventKind, effects: Vec<EffectRecord>) {
    let seq = view.entries();
    let action = Action {
        effects,
        ..sample::action(seq, EntryKind::Noted, State::Execute, State::Execute)
    };
    view.take(Entry {
        action: &action,
        event: Some(&Event { at_ms, event }),
        hash: Digest::ZERO,
    });
}

fn execute() -> Vec<EffectRecord> {
    vec![EffectRecord::Execute {
        arguments_hash: Digest::ZERO,
        call: CallSeq(1),
        id: "c1".to_owned(),
        name: "read_file".to_owned(),
    }]
}

fn timed_out() -> EventKind {
    EventKind::ToolReturned(Box::new(ToolReturned {
        call: CallSeq(1),
        child: None,
        exchanges: Vec::new(),
        outcome: ToolOutcome::TimedOut,
    }))
}

#[test]
fn a_lost_call_that_is_started_again_has_two_executions() {
    let mut view = RunView::new(Arc::new(sample::contract()));
    take(&mut view, 0, EventKind::TimerFired, execute());
    let lost = EventKind::EffectLost(LostEffect::Call(CallSeq(1)));
    take(&mut view, 4, lost, execute());
    assert!(call(&view, 1).is_running());
    assert_eq!(call(&view, 1).reported(), None);
    take(&mut view, 9, timed_out(), Vec::new());
    let executions = call(&view, 1).executions.iter();
    let ends = executions.map(|e| (e.number, e.began_at_ms, e.ended_at_ms, e.end.clone()));
    let expect = [
        (0, 0, Some(4), Some(CallEnd::Lost { suspended: false })),
        (1, 4, Some(9), Some(CallEnd::TimedOut)),
    ];
    assert_eq!(ends.collect::<Vec<_>>(), expect);
    assert_eq!(view.ended(), [0, 1]);
}

#[test]
fn what_comes_after_a_call_was_given_up_is_late_and_ends_nothing() {
    let mut view = RunView::new(Arc::new(sample::contract()));
    take(&mut view, 0, EventKind::TimerFired, execute());
    let cancel = vec![EffectRecord::Cancel];
    take(&mut view, 4, EventKind::TimerFired, cancel);
    assert_eq!(call(&view, 1).reported(), None);
    take(&mut view, 9, timed_out(), Vec::new());
    let call = call(&view, 1);
    let last = &call.executions[0];
    assert_eq!(last.end, Some(CallEnd::GivenUp));
    assert_eq!((last.ended_at_ms, view.ended()), (Some(4), &[0][..]));
    assert_eq!(call.reported(), Some(&CallEnd::TimedOut));
}

#[test]
fn results_of_a_turn_are_in_the_order_in_which_they_came() {
    let golden = Golden::of("batch.parallel");
    let returned = golden.entries.iter().filter_map(|entry| {
        let EventKind::ToolReturned(returned) = &entry.entry().event?.event else {
            return None;
        };
        Some(returned.call)
    });
    let returned: Vec<CallSeq> = returned.collect();
    assert!(!returned.is_sorted(), "{returned:?}");
    let view = golden.whole();
    let [first, second] = view.turns() else {
        panic!("two turns, got {:?}", view.turns());
    };
    assert_eq!(first.returned, returned);
    assert_eq!(second.returned, []);
}

#[test]
fn a_result_that_did_not_fit_is_marked_as_dropped() {
    let view = Golden::of("synthesis.result_does_not_fit").whole();
    let executions = view.calls().values().flat_map(|call| &call.executions);
    let dropped = executions.filter(|execution| execution.dropped.is_some());
    assert_eq!(dropped.count(), 1);
}

#[test]
fn a_report_in_a_tag_counts_where_the_run_ends_with_it() {
    let view = Golden::of("session.xml_final").whole();
    let [report] = view.reports() else {
        panic!("one report, got {:?}", view.reports());
    };
    assert_eq!((report.counted, &report.fault), (Some(true), &None));
    assert!(report.bytes > 0);
}

#[test]
fn a_report_that_the_gate_holds_back_has_a_size_and_a_fault() {
    let golden = Golden::of("session.xml_final");
    let mut view = golden.view(1);
    let mut returned = golden.entries.iter().find_map(|entry| {
        let EventKind::InferenceReturned(returned) = &entry.entry().event?.event else {
            return None;
        };
        Some(returned.clone())
    });
    let returned = returned.as_mut().unwrap();
    let message = AgentMessage::text(Role::Assistant, "", 1);
    returned.result.canonical_message = Some(message);
    returned.result.withheld = Some(Withheld {
        blank: false,
        bytes: 9,
        hash: Digest::ZERO,
        report_bytes: Some(7),
    });
    let event = Event {
        at_ms: 5,
        event: EventKind::InferenceReturned(returned.clone()),
    };
    let mut take = |from, to, event: Option<&Event>| {
        let action = sample::action(1, EntryKind::Transition, from, to);
        let hash = Digest::ZERO;
        view.take(Entry {
            action: &action,
            event,
            hash,
        });
        let [report] = view.reports() else {
            panic!("one report, got {:?}", view.reports());
        };
        report.clone()
    };
    let report = take(State::Infer, State::ValidateCalls, Some(&event));
    assert_eq!((report.bytes, report.counted), (7, None));
    assert_eq!(report.fault, Some(ReportFault::HeldBack));
    let report = take(State::Commit, State::Infer, None);
    assert_eq!(report.counted, Some(false));
}

#[test]
fn calls_in_the_providers_own_form_give_no_report_in_a_tag() {
    for name in ["session.report_markdown", "session.json_schema"] {
        assert_eq!(Golden::of(name).whole().reports(), [], "{name}");
    }
}
