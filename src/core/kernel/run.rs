//! A run from outside: its start, a step, and the queries of a host. The state handlers are in separate files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use statig::blocking::{IntoStateMachineExt, StateMachine};

use super::clock::RunClock;
use super::commit::Next;
use super::context::ContextLedger;
use super::digest::leaves_out_digests;
use super::faults::LeftOut;
use super::flow::LabelLedger;
use super::history::{CallHistory, Conversation};
use super::holds::Holds;
use super::machine::{Input, Machine, Verdict};
use super::outbox::Outbox;
use super::session::Report;
use super::stage::{Awaited, Stage};
use super::turn::Turn;
use super::{
    CallOrder, Counters, Effect, Event, EventKind, LostEffect, Outcome, RunStarted, State, XmlOffer,
};
use crate::contract::{ExecutionContract, FinalReport, Label, Validators};
use crate::message::{AgentMessage, CallSeq, Digest, DigestContext, genesis};

/// One run of the machine: give it events, do what it says.
///
/// It has no clock and does nothing itself. [`Run::step`] never fails and never panics, for any event in any state.
#[derive(Clone)]
pub struct Run {
    machine: StateMachine<Machine>,
}

impl Run {
    /// Begins a run: entry 0, then the probe of the targets.
    ///
    /// `validators` are the compiled argument schemas of the same contract.
    #[must_use]
    pub fn start(
        contract: Arc<ExecutionContract>,
        validators: Arc<Validators>,
        started: RunStarted,
    ) -> (Self, Vec<Effect>) {
        let genesis = genesis(contract.contract_hash(), &started.run_id);
        let mut machine = Machine {
            contract,
            validators,
            at_ms: 0,
            events: Digest::ZERO,
            run_id: started.run_id.clone(),
            genesis,
            seq: 0,
            counters: Counters::default(),
            conversation: Conversation::new(),
            context: ContextLedger::default(),
            turn: Turn::none(),
            asked: BTreeMap::new(),
            verdict: Verdict::None,
            invalid_turns: 0,
            plain_texts: 0,
            early: Vec::new(),
            discarded: 0,
            dropped: BTreeSet::new(),
            holds: Holds::default(),
            left_out: LeftOut::default(),
            overflowed: BTreeMap::new(),
            overran: BTreeSet::new(),
            suspended: false,
            notices: Vec::new(),
            closing: None,
            stop_requested: false,
            interrupted: None,
            context_tripped: None,
            inference_succeeded: false,
            gate_open: false,
            proof: None,
            history: CallHistory::default(),
            report: Report::None,
            delegations: BTreeMap::new(),
            tools_changed: BTreeSet::new(),
            checks: Vec::new(),
            intent_words: started.intent_words.clone(),
            labels: LabelLedger::default(),
            clock: RunClock::default(),
            given: None,
        };
        if !machine.contract.asks_model() {
            machine.given = started.given_call().cloned();
        }
        let given = usize::from(machine.given.is_some());
        let spoken = started.messages.len().saturating_sub(given);
        for message in started.conversation().into_iter().take(spoken) {
            machine.append_pending(message);
        }
        machine.reserve_system(&started.messages);
        machine.label_opening(&started);
        machine.context.flush();
        let fits = machine.judge_first_request(&started.messages);
        machine.checks = machine.static_checks(&started, fits.err());
        let event = Event {
            at_ms: 0,
            event: EventKind::RunStarted(Box::new(started)),
        };
        machine.events = rolled(Digest::ZERO, &event);
        let mut outbox = Outbox::default();
        outbox.probe();
        outbox.write_start(&mut machine);
        let mut machine = machine.state_machine();
        machine.init_with_context(&mut outbox);
        (Self { machine }, outbox.into_effects(event))
    }

    /// Takes one event. The effects come in the order in which they must be done; entries first.
    ///
    /// In TERMINATE the answer is empty: the driver may log the event.
    #[must_use]
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        if self.state() == State::Terminate {
            return Vec::new();
        }
        #[cfg(debug_assertions)]
        STEPS.with(|steps| steps.set(steps.get() + 1));
        let mut outbox = Outbox::default();
        let events = rolled(self.storage().events, &event);
        self.machine
            .handle_with_context(&Input::Event(&event, events), &mut outbox);
        // Passed states are left at once. Every round takes one edge, and no cycle of edges avoids a resting state.
        while !self.state().is_resting() {
            self.machine.handle_with_context(&Input::Pass, &mut outbox);
        }
        debug_assert!(!outbox.is_empty(), "a step writes at least one entry");
        outbox.into_effects(event)
    }

    /// When [`EventKind::TimerFired`] is due, in milliseconds since the run began.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.storage().next_deadline(self.stage())
    }

    /// The effects that the machine has issued and waits for, in the order in which it issued them: what a process that
    /// resumes the run has to hand in as lost. An approval is not among them, nor is the question of a server that a later process
    /// can answer: nothing that could be lost is under way.
    #[must_use]
    pub fn unresolved(&self) -> Vec<LostEffect> {
        match self.stage() {
            Stage::Precheck => vec![LostEffect::Probe],
            Stage::Infer(Awaited::Inference(awaited)) => {
                let calls = self.early_calls().map(LostEffect::Call);
                [LostEffect::Inference(*awaited)]
                    .into_iter()
                    .chain(calls)
                    .collect()
            }
            Stage::Infer(Awaited::Wait { .. }) => vec![LostEffect::Wait],
            // Nothing was issued that could be lost.
            Stage::Infer(Awaited::Due { .. }) => Vec::new(),
            Stage::Execute(batch) => {
                let calls = batch.bound_calls().map(LostEffect::Call);
                let inferences = batch.inferences().map(LostEffect::Inference);
                calls.chain(inferences).collect()
            }
            Stage::ValidateCalls(_) | Stage::Observe(_) | Stage::Commit | Stage::Terminate(_) => {
                Vec::new()
            }
        }
    }

    /// Returns the calls of agents in progress: each has a child run, or is to have one.
    pub fn delegations(&self) -> Vec<CallSeq> {
        let Stage::Execute(batch) = self.stage() else {
            return Vec::new();
        };
        batch.delegations().collect()
    }

    /// Returns the call that waits for a person, if any: for its approval, or with its server's question instead of its
    /// arguments. At most one waits at a time.
    #[must_use]
    pub fn awaited(&self) -> Option<CallOrder> {
        match self.stage() {
            Stage::Execute(batch) => batch.awaited(),
            Stage::Precheck
            | Stage::Infer(_)
            | Stage::ValidateCalls(_)
            | Stage::Observe(_)
            | Stage::Commit
            | Stage::Terminate(_) => None,
        }
    }

    /// True if somebody has asked it to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.storage().stop_requested
    }

    /// True if a resume that finds its result lost starts a call of that tool again.
    pub(crate) fn starts_again(&self, tool: &str) -> bool {
        !self.ends_if_resumed() && self.storage().starts_again(tool)
    }

    /// True if `max_resumes` makes the next resume end it. The resume of a suspended or an ending run does not count.
    pub fn ends_if_resumed(&self) -> bool {
        let machine = self.storage();
        let is_counted = !machine.suspended && !self.is_ending() && self.outcome().is_none();
        is_counted && machine.counters.resumes >= machine.contract.max_resumes
    }

    /// True if nothing is issued until the run is resumed.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.storage().suspended
    }

    /// The state the machine is in.
    #[must_use]
    pub fn state(&self) -> State {
        self.stage().state()
    }

    /// The contract of the run.
    #[must_use]
    pub fn contract(&self) -> &Arc<ExecutionContract> {
        &self.storage().contract
    }

    /// The canonical conversation so far; it only grows.
    #[must_use]
    pub fn conversation(&self) -> &[Arc<AgentMessage>] {
        self.storage().conversation.messages()
    }

    /// The messages after the conversation that only the request in flight contains.
    pub fn notices(&self) -> &[AgentMessage] {
        &self.storage().notices
    }

    /// The target of the request in flight, and the tags that it offers; `None` under the native transport.
    pub(crate) fn offered_tags(&self) -> Option<(usize, XmlOffer)> {
        let machine = self.storage();
        let target = machine.turn.target();
        let offer = machine.xml_offer(target, machine.closing.is_some(), machine.turn.number)?;
        Some((target, offer))
    }

    /// The conversation without attempts that were replaced: at most one message of the model in each turn (000 §9).
    pub fn settled_conversation(&self) -> impl DoubleEndedIterator<Item = &Arc<AgentMessage>> {
        self.storage().conversation.settled()
    }

    /// Prompt tokens of the request that would follow in a turn with tools.
    pub fn next_prompt_tokens(&self) -> u64 {
        self.storage().projected(Next::Turn)
    }

    /// Returns the usage so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.storage().counters
    }

    /// The labels of all that the model was shown, and of what child runs reported.
    #[must_use]
    pub fn seen_labels(&self) -> BTreeSet<Label> {
        self.storage().labels.labels()
    }

    /// Returns the number of its entries.
    pub fn entries(&self) -> u64 {
        self.storage().seq
    }

    /// Milliseconds of the run that its timeouts count.
    #[cfg(test)]
    pub fn run_ms(&self) -> u64 {
        self.storage().run_ms()
    }

    /// True if it is to end and waits only for the ends of child runs.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        matches!(self.stage(), Stage::Execute(batch) if batch.ending)
    }

    /// Returns the outcome, once it ended.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.stage().view().outcome()
    }

    /// The final report, once it is accepted: under `completion: final_report`, and only of a run that succeeded.
    #[must_use]
    pub fn final_report(&self) -> Option<&FinalReport> {
        match &self.storage().report {
            Report::Accepted(report, _) => Some(report),
            Report::None | Report::Held(_) | Report::Broken(_) => None,
        }
    }

    pub(super) fn stage(&self) -> &Stage {
        self.machine.state()
    }

    pub(super) fn storage(&self) -> &Machine {
        self.machine.inner()
    }
}

#[cfg(debug_assertions)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts the steps that the machines of this thread take during `work`, for tests of what a step costs.
#[cfg(debug_assertions)]
pub fn steps(work: impl FnOnce()) -> u64 {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}

static EVENTS_CONTEXT: DigestContext = DigestContext::new("monolith events v1");

/// The rolling digest of a run's events: it is part of every state digest, so that a change in any event shows in the entry
/// that carries it. Costs the event's own bytes.
fn rolled(events: Digest, event: &Event) -> Digest {
    if leaves_out_digests() {
        return Digest::ZERO;
    }
    // An event holds strings, integers and booleans only: serialising it cannot fail.
    let text = serde_json::to_string(event).unwrap_or_default();
    EVENTS_CONTEXT.rolled(events, text.as_bytes())
}

/// The machine alone, made again from its events: no request is written, no entry is sealed, and no clock is asked.
#[derive(Clone)]
pub struct Fold {
    contract: Arc<ExecutionContract>,
    run: Option<Run>,
}

impl Fold {
    /// Begins to fold the run of a contract.
    pub const fn new(contract: Arc<ExecutionContract>) -> Self {
        Self {
            contract,
            run: None,
        }
    }

    /// Takes the next event. The first one is the start of the run: what comes before it does nothing.
    pub fn take(&mut self, event: Event) -> Vec<Effect> {
        match (&mut self.run, event) {
            (Some(run), event) => run.step(event),
            (
                None,
                Event {
                    event: EventKind::RunStarted(started),
                    ..
                },
            ) => {
                let validators = Arc::clone(self.contract.validators());
                let (run, effects) = Run::start(Arc::clone(&self.contract), validators, *started);
                self.run = Some(run);
                effects
            }
            (None, _) => Vec::new(),
        }
    }

    /// The machine after the events; `None` if the run has not begun.
    pub fn into_run(self) -> Option<Run> {
        self.run
    }

    /// The machine after the events so far; none before the run has begun.
    pub const fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }
}
