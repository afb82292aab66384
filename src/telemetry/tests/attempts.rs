//! Which failures are named where a turn failed of them all.

use super::*;

#[test]
fn a_summary_that_failed_and_an_earlier_turn_are_no_attempts_of_the_last() {
    let mut fed = Fed::new();
    let take = |fed: &mut Fed, at_ms, turn, event, effects| {
        let mut action = sample::action(fed.seq, EntryKind::Noted, State::Infer, State::Infer);
        action.effects = effects;
        action.counters.turns = turn;
        action.outcome = Some(Outcome::new(
            AgentOutcome::FailedBudgetExhausted,
            OutcomeCode::AttemptsExhausted,
        ));
        let event = Event { at_ms, event };
        let (contract, ledger) = (&fed.contract, &mut fed.ledger);
        ledger.take(contract, &action, Some(&event), Digest::ZERO);
        fed.seq += 1;
    };
    let ask = |inference| EffectRecord::Infer {
        attempt: 1,
        inference: InferenceSeq(inference),
        notices: Vec::new(),
        target: 0,
        tools: true,
    };
    let tell = EffectRecord::Summarise {
        call: CallSeq(1),
        inference: InferenceSeq(2),
        target: 0,
    };
    let failed = |inference, message| {
        EventKind::InferenceFailed(InferenceFailed {
            fault: ProviderFault::new(ProviderFaultClass::Model, message),
            gated: false,
            inference: InferenceSeq(inference),
            redacted: false,
            request_hash: None,
            usage: None,
        })
    };
    take(&mut fed, 0, 1, EventKind::TimerFired, vec![ask(1)]);
    take(&mut fed, 1, 2, failed(1, "of the first turn"), vec![tell]);
    take(&mut fed, 2, 3, failed(2, "of a summary"), vec![ask(3)]);
    take(&mut fed, 3, 3, failed(3, "of the last turn"), Vec::new());
    let why = "Every attempt of the turn ended in a provider error. (model: of the last turn)";
    assert_eq!(fed.ledger.why().as_deref(), Some(why));
    let purposes = fed.ledger.lines().iter().map(|line| {
        let line = serde_json::to_value(line).unwrap();
        (line["turn"].clone(), line["purpose"].clone())
    });
    let expect = [
        (json!(1), Value::Null),
        (json!(2), json!("summary")),
        (json!(3), Value::Null),
    ];
    assert_eq!(purposes.collect::<Vec<_>>(), expect);
}

#[test]
fn a_turn_without_an_answer_names_every_fault_of_it_once() {
    let failed = |inference, message| {
        EventKind::InferenceFailed(InferenceFailed {
            fault: ProviderFault::new(ProviderFaultClass::Model, message),
            gated: false,
            inference: InferenceSeq(inference),
            redacted: false,
            request_hash: None,
            usage: None,
        })
    };
    let (_, ledger) = run_of(&[
        failed(1, "overloaded"),
        failed(2, "no such model"),
        failed(3, "overloaded"),
    ]);
    let why = "Every attempt of the turn ended in a provider error. (model: overloaded; model: no such model)";
    assert_eq!(ledger.why().as_deref(), Some(why));
}
