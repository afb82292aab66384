//! The facts readable from a view.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::RunView;
use crate::contract::{AgentLink, ExecutionContract};
use crate::kernel::{
    Action, ClosingReason, Counters, EntryKind, FlowRecord, LostEffect, Outcome, Run, State,
};
use crate::message::{CallSeq, Digest, InferenceSeq, RunId, ServerConfinement};
use crate::view::run_start::Decision;
use crate::view::servers::{
    AddressFrom, AnswerFrom, ConfinedFrom, ToolServerDiffers, ToolServerFrom,
};
use crate::view::tree_usage::UsageTotals;
use crate::view::turns::{Activity, Turn};
use crate::view::{
    Approvals, Call, CallEnd, Divergence, Execution, Preflight, Refusal, Report, ReportFault,
    Request, RunStart, TreeUsage,
};

impl RunView {
    /// States which workflow and which step of it the run stands below: `review-notes:summary`. No entry of the run says it.
    pub fn below_step(&mut self, path: String) {
        self.step_path = Some(path);
    }

    /// Returns the cause for which calls of the last refused message were refused.
    pub fn refusal(&self) -> Option<Refusal> {
        Some(self.last_refusal.as_ref()?.0)
    }

    /// The workflow and the step that it stands below, where that was stated.
    pub fn step_path(&self) -> Option<&str> {
        self.step_path.as_deref()
    }

    /// The agent whose run it is: that of its contract, else the one that was called, else the step. None of a run that is no agent's.
    pub fn agent_id(&self) -> Option<&str> {
        let agent = self.contract.agent.as_ref().map(|agent| agent.id.as_str());
        let called = || Some(self.chain().last()?.name.as_str());
        let step = || self.step_path.as_ref()?.rsplit(':').next();
        agent.or_else(called).or_else(step)
    }

    /// The agents from the first one to that of this run, joined by colons; behind the workflow and the step that they stand below.
    pub fn call_path(&self) -> Option<String> {
        let chain = self.chain().iter().map(|link| link.name.as_str());
        let names: Vec<&str> = self.step_path.as_deref().into_iter().chain(chain).collect();
        if names.is_empty() {
            return self.agent_id().map(str::to_owned);
        }
        Some(names.join(":"))
    }

    fn chain(&self) -> &[AgentLink] {
        let delegation = self.contract.delegation.as_ref();
        delegation.map_or(&[], |delegation| &delegation.chain)
    }

    /// Everything that was set going, in the order in which it began.
    pub fn activities(&self) -> &[Activity] {
        self.activities.all()
    }

    /// The numbers of the activities that have ended, in the order in which they did; it only ever grows.
    pub fn ended(&self) -> &[usize] {
        self.activities.ended()
    }

    /// Returns the decisions of `flow` rules about calls, each with its entry, in the order of the entries.
    pub fn flows(&self) -> &[(u64, FlowRecord)] {
        &self.flows
    }

    /// Returns the first place where the entries differ from those that the machine makes of their events; `None` if all agree.
    #[must_use]
    pub const fn departure(&self) -> Option<&Divergence> {
        self.agreement.departure()
    }

    /// The machine after the events so far; `None` before the first, and if the caller has it.
    pub fn machine(&self) -> Option<&Run> {
        self.agreement.machine()
    }

    /// The machine's state after the last entry, in the form in which the state digest takes it; `None` if the machine has more
    /// to write, or has departed.
    pub fn state_text(&self) -> Option<String> {
        self.agreement.state_text()
    }

    /// Returns the addresses of providers whose address was in a variable, in the order of recording: one for each change.
    pub fn addresses(&self) -> &[AddressFrom] {
        &self.servers.addresses
    }

    /// Returns the statements of model servers about themselves in their answers, in the order of the entries: one for each
    /// change.
    pub fn answers(&self) -> &[AnswerFrom] {
        &self.servers.answers
    }

    /// Returns the statements of tool servers about themselves, in the order of the entries: one for each change.
    pub fn tool_servers(&self) -> &[ToolServerFrom] {
        &self.servers.statements
    }

    /// The confinement of each program, in the order of the entries: one each time that it changed.
    pub fn confined(&self) -> &[ConfinedFrom] {
        &self.servers.confined
    }

    /// The last decision on each program; sorted by server.
    pub fn confinement(&self) -> Vec<ServerConfinement> {
        let mut last = Vec::new();
        for confined in self.confined() {
            ServerConfinement::update(&mut last, std::slice::from_ref(&confined.is));
        }
        last.sort_by(|one, other| one.server.cmp(&other.server));
        last
    }

    /// Returns the differences between the offers of tool servers and the contract, in the order of the entries: one for each
    /// change.
    pub fn differing_servers(&self) -> &[ToolServerDiffers] {
        &self.servers.differing
    }

    /// Returns true if a process suspended the run and no process has resumed it since.
    pub const fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// The calls of this run under way whose result is lost if no process drives it, and which a resume does not start again; it starts
    /// none where a run above `ends` this one. `run` is the machine after the last entry. A question that a server put within its call is
    /// lost with it; an approval is not.
    pub fn lost_calls(&self, run: &Run, ends: bool) -> Vec<(CallSeq, &Call)> {
        let unresolved = run.unresolved().into_iter();
        let lost = unresolved.filter_map(|effect| {
            let LostEffect::Call(number) = effect else {
                return None;
            };
            let call = self.call(number)?;
            (ends || !run.starts_again(&call.name)).then_some((number, call))
        });
        lost.collect()
    }

    /// The calls that wait for a person or did.
    pub const fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Returns the number of calls that the last message asked for, counting each call in a batch.
    pub fn last_requested(&self) -> u64 {
        self.requested.names().count() as u64
    }

    /// Returns true if the last message asked for a tool.
    pub fn wants_a_tool(&self) -> bool {
        self.requested.want_a_tool(&self.contract)
    }

    /// Returns the number of tool calls that all messages asked for, started or not: each call of a batch counts, reports of the session do
    /// not.
    pub const fn requested_tools(&self) -> u64 {
        self.requested.tools()
    }

    /// Returns the number of calls requested by all messages, started or not; a batch counts as one.
    pub const fn requested_calls(&self) -> u64 {
        self.requested.total()
    }

    /// Milliseconds since the run began, as of the last event.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.at_ms
    }

    /// Milliseconds that the timeouts count: without those in which a call waited for an approval.
    pub fn counted_ms(&self) -> u64 {
        self.clock.run_ms(self.at_ms)
    }

    /// Milliseconds in which a call waited for an approval.
    pub fn waited_ms(&self) -> u64 {
        self.clock.parked_ms(self.at_ms)
    }

    /// Returns the bytes of model text that the token gate held back, without blank text.
    pub const fn held_back_bytes(&self) -> u64 {
        self.held_back
    }

    /// The call of that number.
    pub fn call(&self, call: CallSeq) -> Option<&Call> {
        self.calls.all().get(&call)
    }

    /// The calls that were started or waited for a person, by number.
    pub const fn calls(&self) -> &BTreeMap<CallSeq, Call> {
        self.calls.all()
    }

    /// Returns the reason for the closing turn, if it has begun.
    pub const fn closing(&self) -> Option<ClosingReason> {
        self.closing
    }

    /// The tools of servers that were called and may change something, by name: none of them states what it changes.
    pub fn unstated_changes(&self) -> BTreeSet<&str> {
        let started = |call: &&Call| {
            let ends = call.executions.iter().map(|made| made.end.as_ref());
            let mut started = ends.map(|end| end.is_none_or(CallEnd::was_started));
            !call.delegated && started.any(|started| started)
        };
        let called = self.calls.all().values().filter(started);
        let names = called.map(|call| call.name.as_str());
        names
            .filter(|name| self.contract.may_change(name))
            .collect()
    }

    /// The contract of the run.
    #[must_use]
    pub const fn contract(&self) -> &Arc<ExecutionContract> {
        &self.contract
    }

    /// The machine's own counters after the last entry.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the usage of the child runs; `None` if the run called no agent that used anything.
    pub fn used_below(&self) -> Option<TreeUsage> {
        TreeUsage::below(&self.counters)
    }

    /// Returns the usage of this run and its child runs.
    pub const fn used_with_below(&self) -> TreeUsage {
        TreeUsage::of(&self.counters)
    }

    /// Returns the last decision: in a run that has ended, its end.
    pub fn decision(&self) -> Option<&Decision> {
        self.decisions.last()
    }

    /// Returns the number of entries.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The first execution whose answer was no valid result, with its call.
    pub fn first_malformed(&self) -> Option<(&Call, &Execution)> {
        self.calls.first_malformed()
    }

    /// The hash of the last entry.
    #[must_use]
    pub const fn head(&self) -> Option<Digest> {
        self.head
    }

    /// The first run of the line that this one was forked along, where it is known; the run itself where it was not forked.
    pub fn origin(&self) -> Option<&RunId> {
        let own = || Some(&self.start.as_ref().filter(|s| s.parent.is_none())?.run_id);
        self.origin.as_ref().or_else(own)
    }

    /// Returns the outcome, once decided.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Returns the findings before the first request.
    pub const fn preflight(&self) -> &Preflight {
        &self.preflight
    }

    /// Returns the error of form in the last final report, either a call or a tag.
    pub const fn report_fault(&self) -> Option<&ReportFault> {
        self.reports.last_fault()
    }

    /// Returns the error in the final report that the entry refuses. The entry is the last one taken, and its message runs no
    /// call.
    pub fn refused_report(&self, action: &Action) -> Option<&ReportFault> {
        let refuses = action.from == State::ValidateCalls
            && action.to == State::Commit
            && action.kind == EntryKind::Transition;
        self.reports.fault_of_last().filter(|_| refuses)
    }

    /// Returns true if any response held a final report, either a call or a tag.
    pub const fn has_reports(&self) -> bool {
        self.reports.any()
    }

    /// The final reports that came as tags, in order.
    pub fn reports(&self) -> &[Report] {
        self.reports.all()
    }

    /// The request of that number.
    pub fn request(&self, inference: InferenceSeq) -> Option<&Request> {
        self.requests.all().get(&inference)
    }

    /// All requests, by number.
    pub const fn requests(&self) -> &BTreeMap<InferenceSeq, Request> {
        self.requests.all()
    }

    /// The name of the run, once entry 0 has been taken.
    #[must_use]
    pub fn run_id(&self) -> Option<&RunId> {
        self.start.as_ref().map(|start| &start.run_id)
    }

    /// Returns the facts in entry 0.
    pub const fn start(&self) -> Option<&RunStart> {
        self.start.as_ref()
    }

    /// When the run began, in milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn started_unix_ms(&self) -> u64 {
        self.start.as_ref().map_or(0, |start| start.started_unix_ms)
    }

    /// The turns, in order.
    pub fn turns(&self) -> &[Turn] {
        self.turns.all()
    }

    /// When that moment of the run was, in milliseconds since 1970-01-01 UTC.
    pub fn unix_ms(&self, at_ms: u64) -> u64 {
        self.started_unix_ms().saturating_add(at_ms)
    }

    /// Returns the total usage.
    pub const fn usage(&self) -> UsageTotals {
        self.usage
    }
}
