//! Semantics §2 to §6 said a second time: what a run must do next, from the contract and the events alone.
//!
//! Written from the document, with none of the machine's parts: a difference between the two is a fault of one of them.

mod agents;
mod commit;
mod context;
mod early;
mod events;
mod faults;
mod questions;
mod responses;
mod samples;
mod summaries;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::AgentOutcome as Class;
use super::OutcomeCode as Code;
use super::tests_filter::{RuleResult, counts, rule_result};
use super::{
    Approval, ClosingReason, Effect, EntryKind, Event, EventKind, InferenceReturned, LostEffect,
    Outcome, Resumed, RunStarted, ToolExposure, texts,
};
use crate::contract::{
    BATCH, Completion, ExecutionContract, FINAL_REPORT, FlowAction, Label, PROGRESS_REPORT,
    ToolPolicy, ToolProof, ToolTransport, Validators,
};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, EnvelopeStatus, MAX_EXACT, ObjectText, Parameter,
    ProviderFaultClass as Fault, Role, StopReason, ToolEnvelope, ToolInvocation, ToolOutcome,
    Usage,
};

use faults::{Clock, Fate};
use samples::{estimate, failed};

/// The effect of a step, as visible from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Nothing,
    Ignored,
    Noted,
    Probes,
    Asks(Ask),
    Waits(u64),
    Starts(Vec<u64>),
    /// Like `Starts`, and some are child runs: the tokens and cost that each may use.
    Delegates(Vec<u64>, Vec<(u64, Option<u64>)>),
    Summarises(u64),
    Samples(u64),
    AwaitsApproval(u64),
    Ends(Outcome),
}

/// A request, as far as semantics decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    turn: u32,
    attempt: u32,
    target: usize,
    inference: u64,
    closing: Option<ClosingReason>,
    tools: ToolExposure,
    expected: u64,
}

impl Reaction {
    /// Reads a reaction off the effects of a step.
    pub(super) fn seen(effects: &[Effect]) -> Self {
        let (mut calls, mut grants) = (Vec::new(), Vec::new());
        let mut seen = None;
        for effect in effects {
            match effect {
                Effect::Append(_) | Effect::Cancel => {}
                Effect::Probe => seen = Some(Self::Probes),
                Effect::Infer(r) => {
                    seen = Some(Self::Asks(Ask {
                        turn: r.turn,
                        attempt: r.attempt,
                        target: r.target,
                        inference: r.inference.0,
                        closing: r.closing,
                        tools: r.tools,
                        expected: r.expected_tokens,
                    }));
                }
                Effect::Execute(order) => calls.push(order.call.0),
                Effect::Delegate(asked) => {
                    calls.push(asked.order.call.0);
                    grants.push((asked.grant.max_tokens, asked.grant.max_cost_micro_usd));
                }
                Effect::Summarise(asked) => {
                    seen = Some(Self::Summarises(asked.request.inference.0));
                }
                Effect::Sample(asked) => seen = Some(Self::Samples(asked.request.inference.0)),
                Effect::AwaitApproval(order) => seen = Some(Self::AwaitsApproval(order.call.0)),
                Effect::Wait { until_ms } => seen = Some(Self::Waits(*until_ms)),
                Effect::Finish(outcome) => seen = Some(Self::Ends(*outcome)),
            }
        }
        let Some(Effect::Append(entries)) = effects.first() else {
            return Self::Nothing;
        };
        match (seen, entries.last().map(|e| e.action.kind)) {
            (Some(seen), _) => seen,
            (None, _) if !grants.is_empty() => Self::Delegates(calls, grants),
            (None, _) if !calls.is_empty() => Self::Starts(calls),
            (None, Some(EntryKind::Ignored)) => Self::Ignored,
            (None, _) => Self::Noted,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Precheck,
    Inference(u64),
    Waiting,
    /// The run is suspended, and a request is due, or a wait before it.
    Due,
    Tools,
    Over,
}

/// The cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Why {
    Provider,
    Overflow,
    Fatal(Code),
    Refused(Code),
    Structure,
    /// The provider has no such model, or would refuse the request again.
    Unknown,
    /// The provider refuses a parameter that the author stated.
    Stated,
    /// A final report of the closing turn that failed.
    Report,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Slot {
    Answered(String),
    Pending(u64),
    /// As pending, and a rule asks a person first.
    ToAsk(u64),
    Asked(u64),
    Running(u64),
    /// Its server asks a person this; whether it waits for the answer in the call.
    Question {
        call: u64,
        hash: Digest,
        live: bool,
    },
    /// Its server wants a model to be asked so many bytes, once the run is resumed.
    Unsampled {
        call: u64,
        bytes: u64,
    },
    /// The server waits for that inference, whose prompt has `expected` tokens.
    Sampled {
        call: u64,
        inference: u64,
        expected: u64,
        live: bool,
    },
    /// Due when the run is resumed: approved, or lost.
    Ready(u64),
    /// Returned; whether a model summarises it is decided when the run is resumed.
    Untold(ToolEnvelopeKey),
    /// A summary by that inference is waited for, whose prompt is so many tokens; the cut weighs so much, the whole has so many
    /// bytes.
    Told {
        inference: u64,
        expected: u64,
        cut: u64,
        whole: u64,
    },
    Result(u64),
}

/// The parts of a result that a summary depends on.
type ToolEnvelopeKey = (String, u64, u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Call {
    id: String,
    name: String,
    arguments: Digest,
    /// Tokens of its argument text.
    arguments_tokens: u64,
    /// True if a tool returned an ok result below it.
    proves: bool,
    /// True if its server had an answer: it was then started before.
    answered: bool,
    /// True if a rule of `flow` has a person asked about it.
    asks: bool,
    report_labels: BTreeSet<Label>,
    /// True if the model sees its tool's words.
    shows: bool,
    /// Number of its server's questions to a person.
    questions: u32,
    slot: Slot,
}

/// The findings of a step for COMMIT. Several may hold; §2 says which one counts.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "several may hold at once; each is a question of the document"
)]
struct Found {
    over: Option<Code>,
    violation: Option<Code>,
    terminal: bool,
    /// The way the answer was given, if a report was required.
    by: Option<Code>,
    /// The report failed before the closing turn.
    report_failed: bool,
    malformed: bool,
    why: Option<Why>,
    again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Again,
    /// The same attempt at another target.
    Elsewhere,
    Retry,
    Turn,
    Closing(ClosingReason),
}

/// The intended end of a run that waits for the ends of child runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Ending {
    So(Outcome),
    Mutated,
}

/// Everything but time: part of the key that exploration merges by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that the document names"
)]
pub(super) struct Facts {
    place: Place,
    turn: u32,
    attempt: u32,
    inferences: u64,
    tokens: u64,
    cost: u64,
    retries_used: u32,
    resumes: u32,
    stop: bool,
    suspended: bool,
    /// Consecutive invalid turns: now, and when the turn began.
    invalid: u32,
    invalid_before: u32,
    plain: u32,
    dropped: BTreeSet<usize>,
    early: early::Early,
    /// The projection that overflowed each target.
    overflowed: BTreeMap<usize, u64>,
    /// The target that was asked last.
    asked: usize,
    closing: Option<ClosingReason>,
    ending: Option<Ending>,
    failed: Vec<(usize, Why)>,
    /// The targets that are not asked in this turn.
    dropped_in_turn: BTreeSet<usize>,
    /// The parameters that each target refused, and how often it did.
    left_out: BTreeMap<usize, (BTreeSet<Parameter>, u32)>,
    succeeded: bool,
    gate_open: bool,
    executed: u64,
    proof: bool,
    calls: u64,
    last: Option<String>,
    per_tool: BTreeMap<String, u64>,
    alike: BTreeMap<(String, String), u64>,
    pairs: BTreeMap<(String, String), u64>,
    batch: Vec<Call>,
    /// Usage of child runs: tokens, cost.
    below: (u64, u64),
    /// Grants of active child runs, by their calls.
    grants: BTreeMap<u64, (u64, Option<u64>)>,
    /// Share of each agent of the message whose file states none.
    share: (u64, Option<u64>),
    /// Inferences whose servers did not wait: tokens of the prompt, and the target.
    unwanted: BTreeMap<u64, (u64, Option<usize>)>,
    /// Tokens of what containers put around their calls.
    frames: u64,
    /// Result of the message's report: valid, or why not.
    report: Option<Result<(), &'static str>>,
    malformed: bool,
    tripped: bool,
    current: u64,
    pending: u64,
    notices: u64,
    changed: BTreeSet<String>,
    /// The labels of what the model was shown.
    seen: BTreeSet<Label>,
}

/// The document as a program.
#[derive(Clone)]
pub(super) struct Oracle {
    contract_hash: Digest,
    run_id: String,
    terms: Arc<ExecutionContract>,
    validators: Arc<Validators>,
    pub(super) facts: Facts,
    clock: Clock,
}

impl Oracle {
    #[expect(clippy::needless_pass_by_value, reason = "its callers share the terms")]
    pub(super) fn new(
        terms: Arc<ExecutionContract>,
        validators: Arc<Validators>,
        started: &RunStarted,
    ) -> Self {
        Self {
            contract_hash: terms.rehash(),
            run_id: started.run_id.as_str().to_owned(),
            terms: Arc::clone(&terms),
            validators,
            facts: Facts {
                place: Place::Precheck,
                turn: 0,
                attempt: 0,
                inferences: 0,
                tokens: 0,
                cost: 0,
                retries_used: 0,
                resumes: 0,
                stop: false,
                suspended: false,
                invalid: 0,
                invalid_before: 0,
                plain: 0,
                dropped: BTreeSet::new(),
                early: early::Early::default(),
                overflowed: BTreeMap::new(),
                asked: 0,
                closing: None,
                ending: None,
                failed: Vec::new(),
                dropped_in_turn: BTreeSet::new(),
                left_out: BTreeMap::new(),
                succeeded: false,
                gate_open: false,
                executed: 0,
                proof: false,
                calls: 0,
                last: None,
                per_tool: BTreeMap::new(),
                alike: BTreeMap::new(),
                pairs: BTreeMap::new(),
                batch: Vec::new(),
                below: (0, 0),
                grants: BTreeMap::new(),
                share: (0, None),
                unwanted: BTreeMap::new(),
                frames: 0,
                report: None,
                malformed: false,
                tripped: false,
                current: 0,
                pending: context::pending(&terms, started),
                notices: 0,
                changed: BTreeSet::new(),
                seen: started.inherited.clone().unwrap_or_default().labels,
            },
            clock: Clock::default(),
        }
    }

    /// Returns the required reaction to this event.
    pub(super) fn react(&mut self, event: &Event) -> Reaction {
        let place = self.facts.place;
        if place == Place::Over {
            return Reaction::Nothing;
        }
        self.clock.at = self.clock.at.max(event.at_ms);
        match &event.event {
            EventKind::Interrupted(_) | EventKind::StopRequested if self.facts.ending.is_some() => {
                Reaction::Ignored
            }
            EventKind::Interrupted(by) => self.leave(
                Class::Interrupted,
                match by {
                    super::Interrupter::Abort => Code::Abort,
                    super::Interrupter::Shutdown => Code::Shutdown,
                    super::Interrupter::Parent => Code::Parent,
                },
            ),
            EventKind::StopRequested => self.stop_requested(),
            EventKind::Suspended if self.facts.suspended => Reaction::Ignored,
            EventKind::Suspended => {
                self.facts.suspended = true;
                Reaction::Noted
            }
            EventKind::Resumed(resumed) => self.resumed(resumed),
            EventKind::TimerFired => self.timer(),
            EventKind::CallStreamed(streamed) => self.streamed(streamed),
            EventKind::Probed(probed) if place == Place::Precheck => {
                if let Some(end) = self.out_of_time() {
                    return end;
                }
                if !self.facts.stop && !self.first_fits() {
                    return self.end(Class::FailedPreflight, Code::ContextInfeasible);
                }
                let dropped = self.facts.dropped.clone();
                if !self.facts.stop
                    && !probed
                        .targets
                        .iter()
                        .take(self.targets())
                        .enumerate()
                        .any(|(n, t)| t.responsive && !dropped.contains(&n))
                {
                    return self.end(Class::FailedPreflight, Code::BackendUnavailable);
                }
                self.go_on(Wish::Turn)
            }
            EventKind::InferenceReturned(r) => {
                self.count(r.inference.0, &r.usage);
                let is_attempt = place == Place::Inference(r.inference.0);
                let target = if is_attempt {
                    Some(self.facts.asked)
                } else {
                    self.side_target(r.inference.0)
                };
                self.end_hold(target);
                if is_attempt {
                    self.facts.notices = 0;
                    return self.answered(r);
                }
                if let Some(reaction) = self.sample_ended(r.inference.0) {
                    return reaction;
                }
                self.summary_ended(r.inference.0, Some(r))
            }
            EventKind::InferenceFailed(f) => {
                if let Some(usage) = &f.usage {
                    self.count(f.inference.0, usage);
                }
                let n = f.inference.0;
                let is_attempt = place == Place::Inference(n);
                let target = if is_attempt {
                    Some(self.facts.asked)
                } else {
                    self.side_target(n)
                };
                let fate = target.map_or(Fate::None, |target| self.fault(target, &f.fault));
                if !is_attempt {
                    let sampled = self.sample_ended(n);
                    return sampled.unwrap_or_else(|| self.summary_ended(n, None));
                }
                if fate == Fate::Repeat {
                    return self.commit(Found {
                        again: true,
                        ..Found::default()
                    });
                }
                let why = match f.fault.class {
                    _ if fate == Fate::Stated => Why::Stated,
                    _ if fate == Fate::Dropped => Why::Unknown,
                    Fault::Auth => Why::Fatal(Code::ProviderAuth),
                    Fault::Quota => Why::Fatal(Code::ProviderQuota),
                    Fault::ContextOverflow => Why::Overflow,
                    Fault::Refusal => Why::Refused(Code::Refusal),
                    Fault::ContentFilter => Why::Refused(Code::ContentFilter),
                    Fault::RateLimit
                    | Fault::Timeout
                    | Fault::Network
                    | Fault::Model
                    | Fault::InvalidResponse => Why::Provider,
                };
                if why != Why::Overflow {
                    self.facts.notices = 0;
                }
                self.commit_failed(why)
            }
            EventKind::ToolReturned(r) => self.returned(r.call.0, &r.outcome, r.child.as_deref()),
            EventKind::ApprovalGiven(approval) => self.approval(approval, true),
            EventKind::ApprovalDenied(approval) => self.approval(approval, false),
            EventKind::EffectLost(lost) => self.lost(lost),
            EventKind::RunStarted(_) | EventKind::Probed(_) => Reaction::Ignored,
        }
    }
}
