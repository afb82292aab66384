//! A server's questions to a person during a call (semantics §6).

use super::testing::*;
use super::tests_rules::{optional, resumed};
use super::{Approval, Effect, EventKind, LostEffect};
use crate::contract::Terms;
use crate::message::{CallSeq, Digest, InputQuestion, ObjectText, ToolOutcome};

/// A server's question to a person is an approval of the question: it rests, it is bound to the question, and the call
/// continues with the person's input.
#[test]
fn the_question_of_a_server_is_answered_and_its_call_goes_on() {
    let asked = |resume: Option<&str>| {
        let terms = Terms {
            approval_timeout_ms: 5_000,
            idempotent: vec!["write".to_owned()],
            step_timeout_ms: 100,
            ..optional()
        };
        let mut h = Harness::inferring(terms);
        h.answer(calls(&["read"]));
        let question = ObjectText::parse(r#"{"message":"Who?"}"#).unwrap();
        h.push(tool(
            CallSeq(1),
            ToolOutcome::InputRequired(InputQuestion {
                question: question.clone(),
                resume: resume.map(str::to_owned),
            }),
        ));
        (h, question.digest())
    };
    let answer = |arguments_hash, content: Option<&str>| Approval {
        content: content.map(|content| ObjectText::parse(content).unwrap()),
        ..Approval::to(CallSeq(1), arguments_hash)
    };
    let goes_on = |h: &Harness| match h.effects.first() {
        Some(Effect::Execute(order)) => order.input.clone(),
        _ => None,
    };
    let (h, hash) = asked(Some("kept"));
    let Some(Effect::AwaitApproval(order)) = h.effects.first() else {
        panic!("a person is asked");
    };
    assert_eq!(order.invocation.arguments.as_str(), r#"{"message":"Who?"}"#);
    assert_eq!(order.arguments_hash, hash);
    assert_eq!(h.run.unresolved(), []);
    assert_eq!(h.run.next_deadline(), Some(5_001));

    // An answer to another question is none.
    let mut other = h.clone();
    other.push(EventKind::ApprovalGiven(answer(Digest::ZERO, Some("{}"))));
    assert_eq!(goes_on(&other), None);
    // Parked far beyond the step's timeout, and the call continues.
    let mut given = h.clone();
    let content = r#"{"name":"J"}"#;
    given.push_at(4_000, EventKind::ApprovalGiven(answer(hash, Some(content))));
    let input = goes_on(&given).expect("the call goes on");
    assert_eq!(input.resume.as_deref(), Some("kept"));
    assert_eq!(
        input.content.as_ref().map(ObjectText::as_str),
        Some(content)
    );
    assert_eq!(given.run.next_deadline(), Some(4_101));
    assert_eq!(given.run.counters().calls, 1);
    // Refused, or too late: the server gets no content, and may still end the call.
    let mut refused = h.clone();
    refused.push(EventKind::ApprovalDenied(answer(hash, None)));
    assert_eq!(goes_on(&refused).expect("it goes on").content, None);
    let mut late = h.clone();
    late.push_at(5_001, EventKind::TimerFired);
    assert_eq!(goes_on(&late).expect("it goes on").content, None);
    // A stop ends the wait; whether the call acted is not known.
    let mut stopped = h.clone();
    stopped.push(EventKind::StopRequested);
    let unknown = "(tool failed: interrupted, effect unknown)";
    assert_eq!(stopped.observations(), [unknown]);
    // Answered while the process leaves, the call continues in the next.
    let mut left = h.clone();
    left.push(EventKind::Suspended)
        .push(EventKind::ApprovalGiven(answer(hash, None)));
    assert_eq!(goes_on(&left), None);
    let resumed = resumed(&left);
    left.push(resumed);
    assert_eq!(
        goes_on(&left).expect("it goes on").content,
        Some(ObjectText::empty())
    );

    // A server that waits in the call may end it, and what it asked is lost with the process.
    let (h, _) = asked(None);
    assert_eq!(h.run.unresolved(), [LostEffect::Call(CallSeq(1))]);
    let mut ended = h.clone();
    ended.push(tool(CallSeq(1), ToolOutcome::TimedOut));
    assert_eq!(ended.observations(), ["(tool failed: timeout)"]);
    let mut lost = h.clone();
    lost.push(EventKind::EffectLost(LostEffect::Call(CallSeq(1))));
    assert_eq!(lost.observations(), [unknown]);
}

/// A call that waits with its question in the leaving process may have acted: an answer at that time starts no second call.
#[test]
fn a_call_whose_question_is_answered_while_its_process_leaves_is_not_made_twice() {
    let answered = |tool_name: &str, given: bool| {
        let mut h = Harness::inferring(Terms {
            idempotent: vec!["write".to_owned()],
            ..optional()
        });
        h.answer(calls(&[tool_name]));
        let question = ObjectText::parse(r#"{"message":"Who?"}"#).unwrap();
        let approval = Approval {
            answerer: None,
            arguments_hash: question.digest(),
            call: CallSeq(1),
            content: None,
            proposal: None,
            reason: None,
        };
        let asked = InputQuestion {
            question,
            resume: None,
        };
        h.push(tool(CallSeq(1), ToolOutcome::InputRequired(asked)))
            .push(EventKind::Suspended)
            .push(if given {
                EventKind::ApprovalGiven(approval)
            } else {
                EventKind::ApprovalDenied(approval)
            });
        h
    };
    let lost = || EventKind::EffectLost(LostEffect::Call(CallSeq(1)));
    for given in [true, false] {
        let mut h = answered("read", given);
        assert_eq!(h.run.unresolved(), [LostEffect::Call(CallSeq(1))]);
        let resumption = resumed(&h);
        h.push(resumption);
        assert!(h.effects.is_empty(), "{:?}", h.effects);
        h.push(lost());
        let unknown = "(tool failed: interrupted, effect unknown)";
        assert_eq!(h.observations(), [unknown]);

        // One that is declared idempotent is made again, without the answer to a question that no one waits with.
        let mut h = answered("write", given);
        let resumption = resumed(&h);
        h.push(resumption).push(lost());
        let Some(Effect::Execute(order)) = h.effects.first() else {
            panic!("it is made again: {:?}", h.effects);
        };
        assert_eq!(order.input, None);

        // Its process may still end it, as long as it is there.
        let mut h = answered("read", given);
        h.push(tool(CallSeq(1), ToolOutcome::TimedOut));
        assert_eq!(h.run.unresolved(), []);
    }
}

/// No time-out runs while a person is waited for, so a server that asked for ever would keep the run for ever.
#[test]
fn the_server_of_a_call_asks_ten_times_and_no_more() {
    let mut h = Harness::inferring(optional());
    h.answer(calls(&["read"]));
    let question = ObjectText::parse(r#"{"message":"Who?"}"#).unwrap();
    let asks = || {
        let resume = Some("kept".to_owned());
        let question = question.clone();
        let outcome = ToolOutcome::InputRequired(InputQuestion { question, resume });
        tool(CallSeq(1), outcome)
    };
    for _ in 0..10 {
        h.push(asks());
        let effect = h.effects.first();
        assert!(
            matches!(effect, Some(Effect::AwaitApproval(_))),
            "{effect:?}"
        );
        h.push(EventKind::ApprovalDenied(Approval::to(
            CallSeq(1),
            question.digest(),
        )));
        let effect = h.effects.first();
        assert!(matches!(effect, Some(Effect::Execute(_))), "{effect:?}");
    }
    h.push(asks());
    assert!(
        h.request().is_some(),
        "the eleventh is observed, and the run goes on"
    );
    let observed = h
        .run
        .storage()
        .conversation
        .messages()
        .last()
        .map(|m| m.content.clone());
    assert_eq!(
        observed.as_deref(),
        Some("(tool failed: interrupted, effect unknown)")
    );
}
