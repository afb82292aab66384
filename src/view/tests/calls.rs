//! Calls: of batches, approved ones, lost ones.

use super::Golden;
use crate::message::CallSeq;
use crate::view::{ApprovalEnd, Call, CallEnd, RunView};

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
    assert_eq!(view.asked_calls(), 1, "a batch is asked for as one call");
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
            assert_eq!(crate::message::Digest::of(call.arguments.as_bytes()), hash);
        }
    }
    assert!(waited);
    let view = golden.whole();
    assert_eq!(view.approvals().awaited(), None);
    let call = call(&view, 1);
    assert_eq!(call.approval, Some(ApprovalEnd::Allowed));
    assert_eq!(call.executions.len(), 1);
}

#[test]
fn a_lost_call_that_may_run_again_has_two_executions() {
    let view = Golden::of("resume.lost_call").whole();
    let calls = view.calls().values();
    let lost = calls.filter(|call| {
        let mut ends = call.executions.iter().map(|e| e.end.as_ref());
        ends.any(|end| end == Some(&CallEnd::Lost))
    });
    let lost: Vec<&Call> = lost.collect();
    assert!(!lost.is_empty());
    for call in lost {
        assert!(!call.arguments.is_empty(), "{call:?}");
        assert!(!call.is_running(), "{call:?}");
    }
}

#[test]
fn what_came_back_in_a_turn_stands_in_the_order_in_which_it_did() {
    let view = Golden::of("batch.parallel").whole();
    let [first, second] = view.turns() else {
        panic!("two turns, got {:?}", view.turns());
    };
    assert!(first.returned.len() > 1, "{first:?}");
    assert_eq!(second.returned, []);
    for number in &first.returned {
        assert_eq!(view.call(*number).unwrap().executions[0].turn, first.number);
    }
}

#[test]
fn a_result_that_did_not_fit_is_marked_as_dropped() {
    let view = Golden::of("synthesis.result_does_not_fit").whole();
    let executions = view.calls().values().flat_map(|call| &call.executions);
    let dropped = executions.filter(|execution| execution.dropped.is_some());
    assert_eq!(dropped.count(), 1);
}
