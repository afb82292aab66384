//! The machine's storage and its statig wiring: dispatch, superstates, and the hook that writes an entry per transition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use statig::blocking::IntoStateMachine;
use statig::{Outcome as Handled, StateOrSuperstate, blocking};

use super::clock::RunClock;
use super::context::ContextLedger;
use super::early_call::EarlyCall;
use super::edges::{FromExecute, FromInfer, FromPrecheck, Reply};
use super::faults::LeftOut;
use super::flow::LabelLedger;
use super::guard::{Guard, holds};
use super::history::{CallHistory, Conversation};
use super::holds::Holds;
use super::lineup::Lineup;
use super::outbox::Outbox;
use super::predicate::Proof;
use super::session::Report;
use super::stage::{Resting, Stage, StageView};
use super::tags::quotation_tokens;
use super::turn::{Failure, Turn};
use super::{
    Check, ClosingReason, ContextBlock, Counters, Event, EventKind, Interrupter, OutcomeCode,
};
use crate::contract::{DelegationGrant, ExecutionContract, ToolPolicy, Validators};
use crate::message::{AgentMessage, CallSeq, Digest, InferenceSeq, RunId, Usage, exact_sum};

/// The result of a step, for COMMIT to judge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum Verdict {
    /// No result yet, or none that matters besides the other fields.
    None,
    /// The attempt failed.
    Failed(Failure),
    /// The attempt succeeded and the turn is over: tools ran, calls were answered, or only reasoning came.
    Advanced,
    /// The turn is over, and the final report that it brought failed: the next one is the closing turn.
    ReportFailed,
    /// A terminal response stands in the conversation, or is withheld.
    Terminal,
    /// The contract was broken.
    Violation(OutcomeCode),
    /// A call limit would have been passed.
    Limit(OutcomeCode),
    /// A tool's answer was no valid envelope.
    EnvelopeMalformed,
    /// The inference was lost with the process that waited for it.
    Lost,
    /// The provider refused parameters that are left out from now on: the same attempt again.
    ParametersRefused,
    /// A stop ended the wait before an attempt.
    WaitEnded,
}

/// Everything a run is besides its state. Changed by handlers only.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that semantics names"
)]
pub(super) struct Machine {
    pub(super) contract: Arc<ExecutionContract>,
    pub(super) validators: Arc<Validators>,
    pub(super) at_ms: u64,
    pub(super) events: Digest,
    pub(super) run_id: RunId,
    /// `H_0` of the run.
    pub(super) genesis: Digest,
    pub(super) seq: u64,
    pub(super) counters: Counters,
    pub(super) conversation: Conversation,
    pub(super) context: ContextLedger,
    pub(super) turn: Turn,
    /// The target of each request that was issued: what its answer costs goes by it, also where it comes late.
    pub(super) asked: BTreeMap<InferenceSeq, usize>,
    pub(super) verdict: Verdict,
    /// Turns in a row of which no call was authorised and one at least was refused for its name or its arguments.
    pub(super) invalid_turns: u32,
    /// Responses in a row that were plain text, and drew a notice for that.
    pub(super) plain_texts: u32,
    /// The calls of the arriving message that have started.
    pub(super) early: Vec<EarlyCall>,
    /// Calls that started so and that no message asked for. They keep their numbers.
    pub(super) discarded: u64,
    /// Targets that are not asked any more: the first request does not fit them, they do not know their model, or they refuse a
    /// parameter that the author stated.
    pub(super) dropped: BTreeSet<usize>,
    /// Targets whose last answer was a fault that may pass.
    pub(super) holds: Holds,
    /// Default parameters that a target refused.
    pub(super) left_out: LeftOut,
    /// The smallest projection of which each target said that it does not fit.
    pub(super) overflowed: BTreeMap<usize, u64>,
    /// Targets that reported a longer answer than `max_output_tokens`: the context window bounds the next one.
    pub(super) overran: BTreeSet<usize>,
    /// Set while nothing may be issued, since the process is about to leave.
    pub(super) suspended: bool,
    pub(super) notices: Vec<AgentMessage>,
    pub(super) closing: Option<ClosingReason>,
    pub(super) stop_requested: bool,
    pub(super) interrupted: Option<Interrupter>,
    /// The first result that did not fit, until the closing turn has begun.
    pub(super) context_tripped: Option<ContextBlock>,
    pub(super) inference_succeeded: bool,
    pub(super) gate_open: bool,
    pub(super) proof: Option<Proof>,
    pub(super) history: CallHistory,
    pub(super) report: Report,
    /// The runs below this one that go on, by their calls, and what each may use.
    pub(super) delegations: BTreeMap<CallSeq, DelegationGrant>,
    pub(super) tools_changed: BTreeSet<String>,
    pub(super) checks: Vec<Check>,
    pub(super) intent_words: Vec<String>,
    pub(super) labels: LabelLedger,
    pub(super) clock: RunClock,
    /// The message with the call that is an input of the run, until it is validated.
    pub(super) given: Option<AgentMessage>,
}

/// The machine's input: an event from outside, or the push that takes it through a passed state.
pub(super) enum Input<'evt> {
    /// The event, and the rolling digest of the run's events with it.
    Event(&'evt Event, Digest),
    Pass,
}

/// The superstates: what resting states have in common, and what every state does with an event that is not its own.
pub(super) enum Region<'s> {
    Live(Resting<'s>),
    Root(StageView<'s>),
}

impl Machine {
    /// Milliseconds on the run's own clock: without the time it was parked for an approval.
    pub(super) fn run_ms(&self) -> u64 {
        self.clock.run_ms(self.at_ms)
    }

    pub(super) fn total_exceeded(&self) -> bool {
        holds(
            Guard::TotalTimeout,
            self.run_ms() > self.contract.total_timeout_ms,
        )
    }

    pub(super) fn step_exceeded(&self) -> bool {
        let in_step = self.turn.number > 0;
        let elapsed = self.run_ms().saturating_sub(self.turn.started_ms);
        holds(
            Guard::StepTimeout,
            in_step && elapsed > self.contract.step_timeout_ms,
        )
    }

    /// True if items 1 and 2 of semantics §2 already end the run: nothing more may then be authorised or started.
    pub(super) fn head_decides(&self) -> bool {
        holds(
            Guard::ValidateHead,
            self.interrupted.is_some()
                || self.total_exceeded()
                || self.step_exceeded()
                || self.budget_exceeded().is_some(),
        )
    }

    /// The budget that is already exceeded, strictly.
    pub(super) fn budget_exceeded(&self) -> Option<OutcomeCode> {
        let terms = &self.contract;
        let cost_over = terms
            .max_cost_micro_usd
            .is_some_and(|max| self.counters.tree_cost_micro_usd() > max.0);
        // Item 7 lets no inference begin beyond the limit, so the two are one guard.
        if holds(
            Guard::NextInference,
            self.counters.inferences > terms.max_inferences,
        ) {
            Some(OutcomeCode::MaxInferences)
        } else if holds(
            Guard::TokensExceeded,
            self.counters.tree_tokens() > terms.max_tokens_consumed.0,
        ) {
            Some(OutcomeCode::MaxTokens)
        } else if holds(Guard::CostExceeded, cost_over) {
            Some(OutcomeCode::MaxCost)
        } else {
            None
        }
    }

    pub(super) fn required_unproven(&self) -> bool {
        self.contract.tool_policy == ToolPolicy::Required && self.proof.is_none()
    }

    /// The targets that may be asked in this turn.
    pub(super) fn lineup(&self) -> Lineup<'_> {
        Lineup {
            dropped: &self.dropped,
            dropped_in_turn: self.turn.dropped(),
            holds: &self.holds,
            now_ms: self.at_ms,
            targets: self.contract.attempt_targets(),
        }
    }

    /// The targets that may be asked in the next turn.
    pub(super) fn next_lineup(&self) -> Lineup<'_> {
        self.lineup_without(&self.dropped)
    }

    /// The targets without these.
    pub(super) fn lineup_without<'t>(&'t self, passed_over: &'t BTreeSet<usize>) -> Lineup<'t> {
        Lineup {
            dropped: passed_over,
            dropped_in_turn: const { &BTreeSet::new() },
            ..self.lineup()
        }
    }

    /// Counts reported usage: of every attempt, failed, lost and late ones too.
    pub(super) fn count_usage(&mut self, inference: InferenceSeq, usage: &Usage) {
        let target = self.asked.get(&inference).copied();
        let asked = target.and_then(|n| Some((n, self.contract.targets.get(n)?)));
        if let Some((n, _)) = asked.filter(|(_, t)| usage.output > t.sampling.max_output_tokens)
            && self.is_granted()
        {
            self.overran.insert(n);
        }
        let cost = self.contract.cost_micro_usd(target, usage).unwrap_or(0);
        let c = &mut self.counters;
        c.tokens_in = exact_sum(c.tokens_in, usage.input);
        c.tokens_out = exact_sum(c.tokens_out, usage.output);
        c.tokens_cache_read = exact_sum(c.tokens_cache_read, usage.cache_read);
        c.cost_micro_usd = exact_sum(c.cost_micro_usd, cost);
    }

    /// Appends a message that no response has accounted for yet.
    pub(super) fn append_pending(&mut self, message: AgentMessage) {
        self.context.new = exact_sum(self.context.new, message.tokens);
        self.push(message);
    }

    /// Adds a message to the conversation. The result of each call that tags carry will quote the call once more.
    pub(super) fn push(&mut self, message: AgentMessage) {
        let transport = self.contract.tool_transport;
        let calls = message.tool_calls.iter();
        let quoted = calls.filter(|call| transport.carries(&call.name));
        let quoted = quoted.map(quotation_tokens);
        self.context.new = quoted.fold(self.context.new, exact_sum);
        self.conversation.push(message);
    }

    /// Gives up what is in flight and takes the state's way out: to COMMIT or, from PRECHECK, to the end.
    pub(super) fn abandon(
        &mut self,
        resting: &mut Resting<'_>,
        outbox: &mut Outbox,
    ) -> Handled<Stage> {
        outbox.cancel();
        Handled::Transition(match resting {
            Resting::Precheck => FromPrecheck::Terminate(self.end_precheck_early(outbox)).into(),
            Resting::Infer(_) => {
                self.forget_early(outbox);
                FromInfer::Commit.into()
            }
            Resting::Execute(batch) => {
                self.unpark();
                if batch.end_but_delegations() {
                    return self.await_ends(batch, outbox);
                }
                FromExecute::Observe(batch.cut_short()).into()
            }
        })
    }

    /// Handles an event that ends or disturbs the run, for every live state.
    fn live(
        &mut self,
        resting: &mut Resting<'_>,
        event: &EventKind,
        outbox: &mut Outbox,
    ) -> Handled<Stage> {
        match event {
            // It ends already, and is left once the runs below have ended.
            EventKind::Interrupted(_) | EventKind::StopRequested | EventKind::TimerFired
                if resting.is_ending() =>
            {
                Handled::Super
            }
            EventKind::Interrupted(by) => {
                self.interrupted = Some(*by);
                self.abandon(resting, outbox)
            }
            EventKind::StopRequested if self.stop_requested => {
                self.interrupted = Some(Interrupter::Abort);
                self.abandon(resting, outbox)
            }
            EventKind::StopRequested => {
                self.stop_requested = true;
                outbox.note(self, resting.view(), "stop requested");
                Handled::Handled
            }
            EventKind::TimerFired if self.total_exceeded() || self.step_exceeded() => {
                self.abandon(resting, outbox)
            }
            EventKind::Suspended if !self.suspended => {
                self.suspended = true;
                outbox.note(self, resting.view(), "suspended");
                Handled::Handled
            }
            EventKind::Resumed(resumed) => self.resume(resting, resumed, outbox),
            EventKind::RunStarted(_)
            | EventKind::Probed(_)
            | EventKind::CallStreamed(_)
            | EventKind::InferenceReturned(_)
            | EventKind::InferenceFailed(_)
            | EventKind::ToolReturned(_)
            | EventKind::TimerFired
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(_)
            | EventKind::Suspended => Handled::Super,
        }
    }

    pub(super) fn unpark(&mut self) {
        self.clock.unpark(self.at_ms);
    }

    /// Late and unknown events change nothing; reported usage still counts, that of a run below too.
    fn ignore(&mut self, view: StageView<'_>, event: &EventKind, outbox: &mut Outbox) {
        match event {
            EventKind::InferenceReturned(returned) => {
                self.count_usage(returned.inference, &returned.usage);
            }
            EventKind::InferenceFailed(failed) => {
                if let Some(usage) = &failed.usage {
                    self.count_usage(failed.inference, usage);
                }
            }
            EventKind::ToolReturned(returned) => {
                self.settle_child(returned.call, returned.child.as_deref());
            }
            EventKind::RunStarted(_)
            | EventKind::Probed(_)
            | EventKind::CallStreamed(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(_)
            | EventKind::Suspended
            | EventKind::Resumed(_) => {}
        }
        outbox.write_ignored(self, view);
    }
}

/// Converts a handler's reply for statig. Writes the entry of a step that stays, so that no such step lacks one.
fn replied<E: Into<Stage>>(
    reply: Reply<E>,
    machine: &mut Machine,
    stage: &Stage,
    outbox: &mut Outbox,
) -> Handled<Stage> {
    match reply {
        Reply::Stay(note) => {
            outbox.note(machine, stage.view(), note);
            Handled::Handled
        }
        Reply::Defer => Handled::Super,
        Reply::Go(edge) => Handled::Transition(edge.into()),
    }
}

impl IntoStateMachine for Machine {
    type Event<'evt> = Input<'evt>;
    type Context<'ctx> = Outbox;
    type State = Stage;
    type Superstate<'sub> = Region<'sub>;

    fn initial() -> Stage {
        Stage::Precheck
    }

    fn before_dispatch(
        &mut self,
        _: StateOrSuperstate<'_, Stage, Region<'_>>,
        input: &Input<'_>,
        _: &mut Outbox,
    ) {
        // Called once for each level that is asked, so it may only set.
        if let Input::Event(event, events) = input {
            self.at_ms = self.at_ms.max(event.at_ms);
            self.events = *events;
        }
    }

    // `before_transition` of the published statig 0.4.1 swaps source and target: this hook only.
    fn after_transition(&mut self, source: &Stage, target: &Stage, outbox: &mut Outbox) {
        outbox.transition(self, source.state(), target.view());
        if let Stage::Terminate(outcome) = target {
            outbox.write_seal(self, *outcome);
        }
    }
}

impl blocking::State<Machine> for Stage {
    fn call_handler(
        &mut self,
        machine: &mut Machine,
        input: &Input<'_>,
        outbox: &mut Outbox,
    ) -> Handled<Self> {
        match (&mut *self, input) {
            (Self::Precheck, Input::Event(e, _)) => {
                let reply = machine.precheck(&e.event, outbox);
                replied(reply, machine, self, outbox)
            }
            (Self::Infer(awaited), Input::Event(e, _)) => {
                let reply = machine.infer(&e.event, awaited, outbox);
                replied(reply, machine, self, outbox)
            }
            (Self::Execute(batch), Input::Event(e, _)) => {
                let reply = machine.execute(&e.event, batch, outbox);
                replied(reply, machine, self, outbox)
            }
            (Self::ValidateCalls(arrived), Input::Pass) => {
                Handled::Transition(machine.validate_calls(arrived, outbox).into())
            }
            (Self::Observe(ended), Input::Pass) => {
                Handled::Transition(machine.observe(std::mem::take(ended)).into())
            }
            (Self::Commit, Input::Pass) => Handled::Transition(machine.commit(outbox).into()),
            // `Run::step` pushes through passed states before the next event, and hands TERMINATE nothing.
            (
                Self::ValidateCalls(_) | Self::Observe(_) | Self::Commit | Self::Terminate(_),
                Input::Event(..),
            )
            | (
                Self::Precheck | Self::Infer(_) | Self::Execute(_) | Self::Terminate(_),
                Input::Pass,
            ) => Handled::Super,
        }
    }

    fn superstate(&mut self) -> Option<Region<'_>> {
        Some(match self {
            Self::Precheck => Region::Live(Resting::Precheck),
            Self::Infer(awaited) => Region::Live(Resting::Infer(awaited)),
            Self::Execute(batch) => Region::Live(Resting::Execute(batch)),
            Self::ValidateCalls(_) | Self::Observe(_) | Self::Commit | Self::Terminate(_) => {
                Region::Root(self.view())
            }
        })
    }
}

impl blocking::Superstate<Machine> for Region<'_> {
    fn call_handler(
        &mut self,
        machine: &mut Machine,
        input: &Input<'_>,
        outbox: &mut Outbox,
    ) -> Handled<Stage> {
        match (self, input) {
            (Self::Live(resting), Input::Event(e, _)) => machine.live(resting, &e.event, outbox),
            (Self::Root(view), Input::Event(e, _)) => {
                machine.ignore(*view, &e.event, outbox);
                Handled::Handled
            }
            (Self::Live(_) | Self::Root(_), Input::Pass) => Handled::Handled,
        }
    }

    fn superstate(&mut self) -> Option<Region<'_>> {
        match self {
            Self::Live(resting) => Some(Region::Root(resting.view())),
            Self::Root(_) => None,
        }
    }
}
