//! Monitors: what must hold on every path, judged by events, effects and entries alone.

mod agents;
mod early;
mod effects;
mod ends;
mod flows;

use std::collections::{BTreeMap, BTreeSet};

use super::tests_filter::{RuleResult, counts, rule_result};
use super::{
    AgentOutcome as Class, DropReason, EDGES, Effect, EntryDraft, EntryKind, Event, EventKind,
    LostEffect, Outcome, OutcomeCode as Code, Run, SampleRequest, State, SummaryRequest,
    ToolExposure,
};
use crate::contract::{
    Completion, ExecutionContract, FINAL_REPORT, PROGRESS_REPORT, ToolPolicy, ToolProof,
};
use crate::message::{
    AdapterStatus, CallSeq, Digest, EnvelopeStatus, InferenceSeq, Role, ToolOutcome, Usage,
};

/// A call that was started, or waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OpenCall {
    pub(super) call: CallSeq,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Digest,
}

/// The history of a run so far, counted from outside.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the run"
)]
pub(super) struct Ledger {
    pub(super) at_ms: u64,
    pub(super) inflight: Option<InferenceSeq>,
    pub(super) summaries: Vec<InferenceSeq>,
    pub(super) waiting_until: Option<u64>,
    pub(super) running: Vec<OpenCall>,
    early: early::Early,
    pub(super) awaiting: Option<OpenCall>,
    lost: Option<CallSeq>,
    pub(super) parked_ms: u64,
    parked_since: Option<u64>,
    pub(super) turn_began: u64,
    pub(super) turn: u32,
    pub(super) inferences: u64,
    pub(super) ended: Option<Outcome>,
    stopped: bool,
    pub(super) suspended: bool,
    /// True if this step handles a resume.
    resumes: bool,
    /// Approved or lost while the run is suspended, and due.
    due: Vec<CallSeq>,
    closing_turn: Option<u32>,
    /// True if it is to end and waits for the ends of child runs.
    ending: bool,
    tokens: u64,
    cost: u64,
    executed: u64,
    executed_ok: u64,
    agents: agents::Below,
    rejections: u32,
    started: BTreeMap<String, u64>,
    alike: BTreeMap<(String, Digest), u64>,
    turn_started: u64,
    /// The names of the targets that entries say were dropped, for the run.
    dropped: BTreeSet<String>,
    /// The same for the turn.
    dropped_in_turn: BTreeSet<String>,
    entries: u64,
    place: State,
    flows: flows::Shown,
}

type Verdict = Result<(), String>;

fn hold(condition: bool, words: impl FnOnce() -> String) -> Verdict {
    if condition { Ok(()) } else { Err(words()) }
}

impl Ledger {
    pub(super) fn new(first: &[Effect]) -> Self {
        let entries = match first.first() {
            Some(Effect::Append(entries)) => entries.len() as u64,
            _ => 0,
        };
        Self {
            at_ms: 0,
            inflight: None,
            summaries: Vec::new(),
            waiting_until: None,
            running: Vec::new(),
            early: early::Early::default(),
            awaiting: None,
            lost: None,
            parked_ms: 0,
            parked_since: None,
            turn_began: 0,
            turn: 0,
            inferences: 0,
            ended: None,
            stopped: false,
            suspended: false,
            resumes: false,
            due: Vec::new(),
            closing_turn: None,
            ending: false,
            tokens: 0,
            cost: 0,
            executed: 0,
            executed_ok: 0,
            agents: agents::Below::default(),
            rejections: 0,
            started: BTreeMap::new(),
            alike: BTreeMap::new(),
            turn_started: 0,
            dropped: BTreeSet::new(),
            dropped_in_turn: BTreeSet::new(),
            entries,
            place: State::Precheck,
            flows: flows::Shown::beginning(first),
        }
    }

    /// The request whose answer is waited for: an attempt's, or the first for a summary.
    pub(super) fn asked(&self) -> Option<InferenceSeq> {
        self.inflight.or(self.summaries.first().copied())
    }

    fn run_ms(&self) -> u64 {
        let now = self.parked_since.map_or(0, |since| self.at_ms - since);
        self.at_ms - self.parked_ms - now
    }

    /// Judges one step and takes it into account.
    pub(super) fn step(&mut self, run: &Run, event: &Event, effects: &[Effect]) -> Verdict {
        let terms = run.contract();
        if self.ended.is_some() {
            return hold(effects.is_empty(), || {
                "an ended run did something".to_owned()
            });
        }
        self.at_ms = self.at_ms.max(event.at_ms);
        let interrupted = matches!(event.event, EventKind::Interrupted(_))
            || (event.event == EventKind::StopRequested && self.stopped);
        self.stopped |= event.event == EventKind::StopRequested;
        self.resumes = matches!(event.event, EventKind::Resumed(_));
        let requested = self.event(terms, &event.event);
        let (Some(Effect::Append(entries)), rest) =
            (effects.first(), effects.get(1..).unwrap_or(&[]))
        else {
            return Err("entries do not come first".to_owned());
        };
        self.entries(event, entries, rest)?;
        let was_ending = std::mem::replace(&mut self.ending, run.is_ending());
        if self.place != State::Execute {
            self.agents.charge_grants();
        }
        self.ends_below(was_ending, rest)?;
        let ends = |e: &Effect| matches!(e, Effect::Cancel | Effect::Finish(_));
        hold(!self.suspended || rest.iter().all(ends), || {
            "something is issued while the run is suspended".to_owned()
        })?;
        for effect in rest {
            self.effect(run, effect)?;
        }
        self.early_calls(terms, rest)?;
        self.counters(terms, entries)?;
        if run.awaited().is_none() {
            // Denied, too late, or given up beside another call: nothing else says so where nothing is issued.
            self.awaiting = None;
        }
        if self.ending {
            self.parked_since.get_or_insert(self.at_ms);
        } else if self.awaiting.is_none()
            && let Some(since) = self.parked_since.take()
        {
            self.parked_ms += self.at_ms - since;
        }
        if interrupted && !was_ending {
            let is = self.ended.is_some_and(|o| o.class == Class::Interrupted);
            hold(is || self.ending, || {
                format!("interrupted, and the step ended {:?}", self.ended)
            })?;
            let busy = self.asked().is_some() || !self.running.is_empty();
            hold(!busy || rest.first() == Some(&Effect::Cancel), || {
                "nothing was cancelled".to_owned()
            })?;
        }
        if requested && terms.tool_policy == ToolPolicy::Forbidden {
            let ends = self.ended.is_some_and(|o| {
                o.code == Code::ForbiddenCall
                    || matches!(o.class, Class::FailedTimeout | Class::FailedBudgetExhausted)
            });
            hold(ends, || {
                format!("a call under forbidden ended {:?}", self.ended)
            })?;
        }
        match self.ended {
            Some(outcome) => self.end(run, outcome, entries),
            None => hold(run.next_deadline().is_some(), || {
                "no deadline while alive".to_owned()
            }),
        }
    }

    /// Takes an event into account; whether it is an accepted message that requests calls.
    fn event(&mut self, terms: &ExecutionContract, event: &EventKind) -> bool {
        match event {
            EventKind::InferenceReturned(r) => {
                self.count(terms, r.inference, &r.usage);
                self.summaries.retain(|asked| *asked != r.inference);
                if self.inflight != Some(r.inference) {
                    return false;
                }
                let rejected = r.result.status == AdapterStatus::Rejected
                    || (r.result.status == AdapterStatus::Recovered && terms.strict_mode);
                self.rejections += u32::from(rejected);
                self.inflight = None;
                let message = r.result.canonical_message.as_ref().filter(|_| !rejected);
                message.is_some_and(|m| {
                    let own = |name: &str| {
                        terms.completion == Completion::FinalReport
                            && matches!(name, FINAL_REPORT | PROGRESS_REPORT)
                    };
                    m.tool_calls.iter().any(|call| !own(&call.name))
                })
            }
            EventKind::InferenceFailed(f) => {
                if let Some(usage) = &f.usage {
                    self.count(terms, f.inference, usage);
                }
                self.summaries.retain(|asked| *asked != f.inference);
                self.inflight = self.inflight.filter(|asked| *asked != f.inference);
                false
            }
            EventKind::ToolReturned(r) => {
                let delegated = self.agents.ended(r);
                let Some(at) = self.running.iter().position(|c| c.call == r.call) else {
                    return false;
                };
                let resume = match &r.outcome {
                    ToolOutcome::InputRequired(asked) => Some(&asked.resume),
                    ToolOutcome::SamplingRequired(asked) => Some(&asked.resume),
                    _ => None,
                };
                let resume = resume.filter(|_| !delegated);
                if let Some(resume) = resume {
                    // It is started once more, and was counted.
                    self.due.push(r.call);
                    if resume.is_none() {
                        return false;
                    }
                }
                self.awaiting.take_if(|c| c.call == r.call);
                let call = self.running.remove(at);
                if let ToolOutcome::Returned(envelope) = &r.outcome
                    && envelope.tool_call_id == call.id
                    && envelope.tool == call.name
                    && (envelope.status == EnvelopeStatus::Error) == envelope.error.is_some()
                    && agents::executes(delegated, r, envelope)
                {
                    self.flows.returned(terms, &call.name, r.child.as_deref());
                    self.executed += 1;
                    let ok = envelope.status == EnvelopeStatus::Ok;
                    self.executed_ok += u64::from(ok);
                    self.agents.returned(delegated, ok, r.child.as_deref());
                }
                false
            }
            EventKind::EffectLost(LostEffect::Inference(lost)) => {
                self.summaries.retain(|asked| asked != lost);
                self.inflight = self.inflight.filter(|asked| asked != lost);
                false
            }
            EventKind::Suspended => {
                self.suspended = true;
                false
            }
            EventKind::Resumed(_) => {
                self.suspended = false;
                false
            }
            EventKind::ApprovalGiven(given) => {
                let asked = self.awaiting.as_ref();
                let this = counts(terms, given)
                    && asked.is_some_and(|c| {
                        (c.call, c.arguments) == (given.call, given.arguments_hash)
                    });
                if this && self.suspended {
                    self.due.push(given.call);
                    self.awaiting = None;
                }
                false
            }
            EventKind::EffectLost(LostEffect::Call(call)) => {
                if self.agents.goes_on(*call) {
                    return false;
                }
                self.lost = Some(*call);
                if self.suspended {
                    self.due.push(*call);
                }
                self.running.retain(|c| c.call != *call);
                self.awaiting.take_if(|c| c.call == *call);
                false
            }
            _ => false,
        }
    }

    fn entries(&mut self, event: &Event, entries: &[EntryDraft], rest: &[Effect]) -> Verdict {
        hold(!entries.is_empty(), || "a step without an entry".to_owned())?;
        let finishes = rest
            .iter()
            .filter(|e| matches!(e, Effect::Finish(_)))
            .count();
        let seals = entries
            .iter()
            .filter(|e| e.action.kind == EntryKind::Seal)
            .count();
        hold(finishes == seals && seals <= 1, || {
            format!("{finishes} ends, {seals} seals")
        })?;
        for (i, entry) in entries.iter().enumerate() {
            let action = &entry.action;
            hold(entry.event.as_ref() == (i == 0).then_some(event), || {
                "the event is not in the first entry alone".to_owned()
            })?;
            hold(
                action.seq == self.entries && action.from == self.place,
                || format!("entry {} from {}", action.seq, action.from),
            )?;
            let edge = EDGES
                .iter()
                .any(|e| e.from == action.from && e.to == action.to);
            hold(
                if action.kind == EntryKind::Transition {
                    edge
                } else {
                    action.from == action.to
                },
                || format!("{} → {}", action.from, action.to),
            )?;
            let last = i + 1 == entries.len();
            let length = (action.kind == EntryKind::Seal).then_some(self.entries + 1);
            hold(
                action.length == length && (length.is_none() || last),
                || "the seal is not last with its length".to_owned(),
            )?;
            let decides = action.kind == EntryKind::Transition && action.from == State::Commit;
            hold(!decides || action.predicate.is_some(), || {
                "COMMIT without a predicate".to_owned()
            })?;
            if let Some(context) = &action.context {
                hold(
                    context.expected == context.ctx + context.pending + context.schema,
                    || "the context account does not add up".to_owned(),
                )?;
            }
            if action.step_id != self.turn {
                (self.turn, self.turn_started) = (action.step_id, 0);
                self.turn_began = self.run_ms();
                self.dropped_in_turn.clear();
            }
            self.entries += 1;
            self.place = action.to;
            for dropped in &action.dropped_targets {
                let targets = match dropped.reason {
                    DropReason::PermanentFault => &mut self.dropped_in_turn,
                    _ => &mut self.dropped,
                };
                targets.insert(dropped.target.clone());
            }
        }
        let records: usize = entries.iter().map(|e| e.action.effects.len()).sum();
        hold(records == rest.len(), || {
            "effects and their records differ".to_owned()
        })?;
        hold(self.place.is_resting(), || {
            "the step ended in a passed state".to_owned()
        })
    }
}
