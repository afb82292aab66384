//! Every state with every kind of event, stepped once: one readable snapshot.

use std::fmt::Write as _;

use Letter::{Fails, Interrupt, Returns, Timer, Tool};

use super::testing::*;
use super::tests_alphabet::{Does, Letter, Response, When};
use super::tests_monitors::Ledger;
use super::{Effect, EntryKind, Interrupter, Run, State};
use crate::contract::{Terms, ToolPolicy};
use crate::message::{FailureCode, ProviderFaultClass, ProviderFaultClass as Fault, ToolOutcome};

const HEAD: &str = "\
STATE(condition) × event → entries · effects · end
Entries: from→to for a transition, with the predicate that fired; noted, ignored and seal are kinds of their own.
VALIDATE_CALLS, OBSERVE and COMMIT have no lines: they are passed inside a step and never see an event from outside.
An event that needs a counterpart (such as the awaited inference) is late where there is none, and has then number 777.
";

const EVENTS: &[(&str, Letter)] = &[
    ("RunStarted", Letter::Started),
    ("Probed responsive", Letter::Probed),
    ("Probed dead", Letter::ProbeDead),
    ("InferenceReturned text", Returns(Response::Text)),
    ("InferenceReturned call", Returns(Response::Read)),
    ("InferenceReturned rejected", Returns(Response::Rejected)),
    ("InferenceReturned late", Letter::StaleAnswer),
    ("InferenceFailed network", Fails(Fault::Network)),
    ("InferenceFailed rate limit", Fails(Fault::RateLimit)),
    ("InferenceFailed auth", Fails(Fault::Auth)),
    ("InferenceFailed late", Letter::StaleFailure),
    ("ToolReturned ok", Tool(Does::Ok)),
    ("ToolReturned timeout", Tool(Does::TimesOut)),
    ("ToolReturned malformed", Tool(Does::Malformed)),
    ("ToolReturned late", Letter::StaleTool),
    ("TimerFired early", Timer(When::Now)),
    ("TimerFired at the deadline", Timer(When::AtDeadline)),
    ("TimerFired past the step", Timer(When::PastStep)),
    ("TimerFired past the run", Timer(When::PastTotal)),
    ("StopRequested", Letter::Stop),
    ("Interrupted abort", Interrupt(Interrupter::Abort)),
    ("Interrupted shutdown", Interrupt(Interrupter::Shutdown)),
    ("Interrupted parent", Interrupt(Interrupter::Parent)),
    ("ApprovalGiven", Letter::Approved),
    ("ApprovalGiven other arguments", Letter::ApprovedOther),
    ("ApprovalGiven late", Letter::StaleApproval),
    ("ApprovalDenied", Letter::Denied),
    ("ApprovalDenied late", Letter::StaleDenial),
    ("EffectLost probe", Letter::LostProbe),
    ("EffectLost inference", Letter::LostInference),
    ("EffectLost inference, another", Letter::LostOtherInference),
    ("EffectLost wait", Letter::LostWait),
    ("EffectLost call", Letter::LostCall),
    ("EffectLost call, another", Letter::LostOther),
    ("Resumed", Letter::Resumed),
    ("Resumed, another contract", Letter::ResumedOther),
];

fn contract() -> Terms {
    Terms {
        require_approval: vec!["write".to_owned()],
        max_turns: 3,
        ..terms(ToolPolicy::Optional)
    }
}

/// The conditions of the resting states, and the letters that lead there.
const CONDITIONS: &[(&str, &[Letter])] = &[
    ("PRECHECK", &[]),
    ("INFER(in flight)", &[Letter::Probed]),
    ("INFER(waiting)", &[Letter::Probed, Fails(Fault::RateLimit)]),
    (
        "EXECUTE(running)",
        &[Letter::Probed, Returns(Response::Read)],
    ),
    (
        "EXECUTE(awaiting approval)",
        &[Letter::Probed, Returns(Response::Write)],
    ),
    ("TERMINATE", &[Letter::Probed, Returns(Response::Text)]),
];

fn began() -> (Run, Ledger) {
    let harness = Harness::new(contract());
    let mut first = vec![Effect::Append(harness.entries.clone())];
    first.extend(harness.effects);
    (harness.run, Ledger::new(&first))
}

fn take(run: &mut Run, ledger: &mut Ledger, letter: Letter) -> Option<Vec<Effect>> {
    let event = letter.event(run, ledger)?;
    let effects = run.step(event.clone());
    ledger
        .step(run, &event, &effects)
        .expect("the monitors agree");
    Some(effects)
}

fn line(effects: &[Effect], run: &Run) -> String {
    let Some(Effect::Append(entries)) = effects.first() else {
        return "nothing".to_owned();
    };
    let entries: Vec<String> = entries
        .iter()
        .map(|entry| {
            let action = &entry.action;
            let predicate = action
                .predicate
                .map_or_else(String::new, |p| format!(" ({}: {:?})", p.item, p.name));
            match action.kind {
                EntryKind::Transition => format!("{}→{}{predicate}", action.from, action.to),
                EntryKind::Start | EntryKind::Noted | EntryKind::Ignored | EntryKind::Seal => {
                    format!("{:?}", action.kind).to_lowercase()
                }
            }
        })
        .collect();
    let effects: Vec<String> = effects.iter().skip(1).map(brief).collect();
    let effects = if effects.is_empty() {
        "none".to_owned()
    } else {
        effects.join(", ")
    };
    format!("{} · {effects} · {}", entries.join(" "), run.state())
}

fn brief(effect: &Effect) -> String {
    match effect {
        Effect::Append(_) => "Append".to_owned(),
        Effect::Probe => "Probe".to_owned(),
        Effect::Infer(r) => {
            let closing = r
                .closing
                .map_or_else(String::new, |c| format!(" closing {c:?}"));
            format!(
                "Infer {} (turn {} attempt {}, tools {:?}{closing})",
                r.inference, r.turn, r.attempt, r.tools
            )
        }
        Effect::Execute(order) => format!("Execute {}", order.call),
        Effect::Delegate(asked) => format!("Delegate {}", asked.order.call),
        Effect::Summarise(asked) => {
            format!("Summarise {} ({})", asked.call, asked.request.inference)
        }
        Effect::Sample(asked) => {
            format!("Sample {} ({})", asked.call, asked.request.inference)
        }
        Effect::AwaitApproval(order) => format!("AwaitApproval {}", order.call),
        Effect::Wait { until_ms } => format!("Wait until {until_ms}"),
        Effect::Cancel => "Cancel".to_owned(),
        Effect::Finish(outcome) => format!("Finish {outcome}"),
    }
}

/// Shows 002/5.path.9, 002/8.keep.1.
#[test]
fn every_state_answers_every_event() {
    let mut table = HEAD.to_owned();
    for (condition, way) in CONDITIONS {
        let (mut run, mut ledger) = began();
        for letter in *way {
            take(&mut run, &mut ledger, *letter).expect("the way leads there");
        }
        table.push('\n');
        let mut stepped = 0;
        for (name, letter) in EVENTS {
            let (mut run, mut ledger) = (run.clone(), ledger.clone());
            let was = run.state();
            if let Some(effects) = take(&mut run, &mut ledger, *letter) {
                stepped += 1;
                writeln!(table, "{condition} × {name} → {}", line(&effects, &run))
                    .expect("a string takes it");
                assert!(was != State::Terminate || effects.is_empty());
            }
        }
        assert!(stepped >= 20, "{condition} saw {stepped} events only");
    }
    insta::assert_snapshot!("every_state_and_event", table);
}

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
    for _ in 0..2 {
        h.fail(ProviderFaultClass::Network).wait();
    }
    h.fail(ProviderFaultClass::Network);
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
}
