use std::collections::BTreeMap;
use std::sync::Arc;

use super::activity::{Activities, Activity};
use super::asked_calls::AskedCalls;
use super::calls::Calls;
use super::decision::Decision;
use super::reports::Reports;
use super::requests::Requests;
use super::turns::{Turn, Turns};
use super::usage_totals::UsageTotals;
use super::{
    Approvals, Call, Entry, Execution, Preflight, Report, Request, RequestEnd, RequestPurpose,
    RunStart,
};
use crate::contract::ExecutionContract;
use crate::kernel::{
    Action, ClosingReason, Counters, EffectRecord, EntryKind, EventKind, InferenceReturned,
    LostEffect, Outcome, RunStarted, ToolReturned,
};
use crate::message::{CallSeq, Digest, InferenceSeq, RunId, Usage};

/// A run as its entries tell it, folded once.
///
/// An entry costs what its new bytes cost. What is kept grows by one fixed-size record for each request, call and turn, and by
/// the arguments of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    activities: Activities,
    approvals: Approvals,
    asked: AskedCalls,
    at_ms: u64,
    calls: Calls,
    closing: Option<ClosingReason>,
    contract: Arc<ExecutionContract>,
    counters: Counters,
    decisions: Vec<Decision>,
    entries: u64,
    head: Option<Digest>,
    /// The first run of the line of forks, where the caller knows it.
    origin: Option<RunId>,
    outcome: Option<Outcome>,
    preflight: Preflight,
    reports: Reports,
    requests: Requests,
    start: Option<RunStart>,
    turns: Turns,
    usage: UsageTotals,
}

/// What passed between an entry and the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Milliseconds.
    pub took_ms: u64,
    /// Tokens that were counted.
    pub tokens: u64,
}

impl RunView {
    /// The view of a run before entry 0.
    #[must_use]
    pub fn new(contract: Arc<ExecutionContract>) -> Self {
        Self {
            activities: Activities::default(),
            approvals: Approvals::default(),
            asked: AskedCalls::default(),
            at_ms: 0,
            calls: Calls::default(),
            closing: None,
            contract,
            counters: Counters::default(),
            decisions: Vec::new(),
            entries: 0,
            head: None,
            origin: None,
            outcome: None,
            preflight: Preflight::default(),
            reports: Reports::default(),
            requests: Requests::default(),
            start: None,
            turns: Turns::default(),
            usage: UsageTotals::default(),
        }
    }

    /// The view of a run after these entries.
    #[must_use]
    pub fn of<'e>(
        contract: Arc<ExecutionContract>,
        entries: impl IntoIterator<Item = Entry<'e>>,
    ) -> Self {
        let mut view = Self::new(contract);
        for entry in entries {
            view.take(entry);
        }
        view
    }

    /// Takes the next entry.
    pub fn take(&mut self, entry: Entry<'_>) -> Step {
        let Entry {
            action,
            event,
            hash,
        } = entry;
        let (before_ms, before_tokens) = (self.at_ms, self.counters.tokens());
        if let Some(event) = event {
            self.at_ms = event.at_ms;
            self.event(action, &event.event);
        }
        if let Some((call, end)) = self.approvals.take(action, event) {
            self.calls.settle(call, end);
        }
        if let Some((call, hash)) = self.approvals.awaited() {
            self.calls
                .await_approval(&self.contract, &mut self.asked, call, hash);
        }
        self.reports.settle(&mut self.activities, action);
        self.turns.begun(action.counters.turns, self.at_ms);
        for effect in &action.effects {
            self.effect(action, effect);
        }
        if !action.checks.is_empty() {
            self.preflight.checks.clone_from(&action.checks);
        }
        self.decisions.extend(Decision::of(action, self.at_ms));
        self.closing = action.closing.or(self.closing);
        self.counters = action.counters;
        self.entries = self.entries.saturating_add(1);
        self.head = Some(hash);
        self.outcome = action.outcome;
        Step {
            took_ms: self.at_ms.saturating_sub(before_ms),
            tokens: self.counters.tokens().saturating_sub(before_tokens),
        }
    }

    /// States which run was the first of the line that this one was forked along: entry 0 names only the one before.
    pub fn originating_from(&mut self, first: RunId) {
        self.origin = Some(first);
    }

    fn event(&mut self, action: &Action, event: &EventKind) {
        match event {
            EventKind::RunStarted(started) => self.started(started),
            EventKind::Probed(probed) => self.preflight.probed.clone_from(&probed.targets),
            EventKind::InferenceReturned(returned) => self.returned(action, returned),
            EventKind::InferenceFailed(failed) => {
                if let Some(usage) = &failed.usage {
                    self.charge(failed.inference, usage);
                }
                self.end_request(failed.inference, RequestEnd::failed(&failed.fault));
            }
            EventKind::ToolReturned(returned) => self.call_returned(action, returned),
            EventKind::EffectLost(LostEffect::Inference(lost)) => {
                self.end_request(*lost, RequestEnd::Lost);
            }
            EventKind::EffectLost(LostEffect::Call(lost)) => {
                self.calls.lost(&mut self.activities, *lost, self.at_ms);
            }
            EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(LostEffect::Probe | LostEffect::Wait)
            | EventKind::Resumed(_) => {}
        }
    }

    fn started(&mut self, started: &RunStarted) {
        self.preflight.bring_up.clone_from(&started.bring_up);
        self.reports = Reports::of_run(&self.contract, &started.run_id);
        self.start = Some(RunStart::from(started));
    }

    fn returned(&mut self, action: &Action, returned: &InferenceReturned) {
        let (inference, result) = (returned.inference, &returned.result);
        let in_time = action.kind != EntryKind::Ignored;
        if in_time && !self.requests.is_summary(inference) {
            self.asked
                .take(inference, result.canonical_message.as_ref());
        }
        self.charge(inference, &returned.usage);
        self.end_request(inference, RequestEnd::returned(result));
        if in_time {
            self.reports.given(
                &self.contract,
                &mut self.activities,
                action,
                returned,
                self.at_ms,
            );
        }
    }

    fn call_returned(&mut self, action: &Action, returned: &ToolReturned) {
        let (call, at_ms) = (returned.call, self.at_ms);
        self.calls
            .returned(&mut self.activities, call, &returned.outcome, at_ms);
        self.turns.returned(call);
        if let Some(dropped) = action.blocked.as_ref().and_then(|block| block.dropped) {
            self.calls.drop_result(call, dropped);
        }
    }

    fn charge(&mut self, inference: InferenceSeq, usage: &Usage) {
        let request = self.requests.all().get(&inference);
        let target = request.and_then(|request| usize::try_from(request.target).ok());
        let cost = self.contract.cost_micro_usd(target, usage);
        self.usage.add(usage, cost);
        self.requests.charge(inference, usage, cost);
    }

    fn end_request(&mut self, inference: InferenceSeq, end: RequestEnd) {
        self.requests
            .end(&mut self.activities, inference, end, self.at_ms);
    }

    fn effect(&mut self, action: &Action, effect: &EffectRecord) {
        let at_ms = self.at_ms;
        match effect {
            EffectRecord::Infer {
                attempt,
                inference,
                target,
                ..
            } => {
                let what = (RequestPurpose::Attempt, *target, *attempt);
                self.requests
                    .send(&mut self.activities, *inference, what, action, at_ms);
                self.turns.attempt(*inference);
            }
            EffectRecord::Summarise {
                call,
                inference,
                target,
            } => {
                let what = (RequestPurpose::Summary(*call), *target, action.attempt);
                self.requests
                    .send(&mut self.activities, *inference, what, action, at_ms);
            }
            EffectRecord::Execute { call, id, name, .. } => {
                let which = (*call, id.as_str(), name.as_str());
                self.calls
                    .start(&self.asked, &mut self.activities, which, action, at_ms);
            }
            EffectRecord::Cancel => {
                self.requests.give_up(&mut self.activities, at_ms);
                self.calls.give_up(&mut self.activities, at_ms);
            }
            EffectRecord::Probe
            | EffectRecord::AwaitApproval { .. }
            | EffectRecord::Wait { .. }
            | EffectRecord::Finish => {}
        }
    }
}

impl RunView {
    /// Everything that was set going, in the order in which it began.
    pub(crate) fn activities(&self) -> &[Activity] {
        self.activities.all()
    }

    /// The numbers of the activities that have ended, in the order in which they did; it only ever grows.
    pub(crate) fn ended(&self) -> &[usize] {
        self.activities.ended()
    }

    /// The calls that wait for a person or did.
    pub(crate) const fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// How many calls all messages asked for, started or not; a batch counts as one.
    pub(crate) const fn asked_calls(&self) -> u64 {
        self.asked.total()
    }

    /// Milliseconds since the run began, as of the last event.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.at_ms
    }

    /// The call of that number.
    pub(crate) fn call(&self, call: CallSeq) -> Option<&Call> {
        self.calls.all().get(&call)
    }

    /// The calls that were started or waited for a person, by number.
    pub(crate) const fn calls(&self) -> &BTreeMap<CallSeq, Call> {
        self.calls.all()
    }

    /// Why the closing turn was begun, once it was.
    pub(crate) const fn closing(&self) -> Option<ClosingReason> {
        self.closing
    }

    /// The contract of the run.
    #[must_use]
    pub const fn contract(&self) -> &Arc<ExecutionContract> {
        &self.contract
    }

    /// The machine's own counters after the last entry.
    pub(crate) const fn counters(&self) -> Counters {
        self.counters
    }

    /// What was decided last: in a run that has ended, its end.
    pub(crate) fn decision(&self) -> Option<&Decision> {
        self.decisions.last()
    }

    /// How many entries there are.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The first execution whose answer was no valid result, with its call.
    pub(crate) fn first_malformed(&self) -> Option<(&Call, &Execution)> {
        self.calls.first_malformed()
    }

    /// The hash of the last entry.
    #[must_use]
    pub const fn head(&self) -> Option<Digest> {
        self.head
    }

    /// The first run of the line that this one was forked along, where it is known; the run itself where it was not forked.
    pub(crate) fn origin(&self) -> Option<&RunId> {
        let own = || Some(&self.start.as_ref().filter(|s| s.parent.is_none())?.run_id);
        self.origin.as_ref().or_else(own)
    }

    /// How the run ended, once it has.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// What was found before the first request.
    pub(crate) const fn preflight(&self) -> &Preflight {
        &self.preflight
    }

    /// The final reports that came as tags, in order.
    pub(crate) fn reports(&self) -> &[Report] {
        self.reports.all()
    }

    /// The request of that number.
    pub(crate) fn request(&self, inference: InferenceSeq) -> Option<&Request> {
        self.requests.all().get(&inference)
    }

    /// All requests, by number.
    pub(crate) const fn requests(&self) -> &BTreeMap<InferenceSeq, Request> {
        self.requests.all()
    }

    /// The name of the run, once entry 0 has been taken.
    #[must_use]
    pub fn run_id(&self) -> Option<&RunId> {
        self.start.as_ref().map(|start| &start.run_id)
    }

    /// What entry 0 states.
    pub(crate) const fn start(&self) -> Option<&RunStart> {
        self.start.as_ref()
    }

    /// When the run began, in milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn started_unix_ms(&self) -> u64 {
        self.start.as_ref().map_or(0, |start| start.started_unix_ms)
    }

    /// The turns, in order.
    pub(crate) fn turns(&self) -> &[Turn] {
        self.turns.all()
    }

    /// When that moment of the run was, in milliseconds since 1970-01-01 UTC.
    pub(crate) fn unix_ms(&self, at_ms: u64) -> u64 {
        self.started_unix_ms().saturating_add(at_ms)
    }

    /// What all requests used.
    pub(crate) const fn usage(&self) -> UsageTotals {
        self.usage
    }
}
