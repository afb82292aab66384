use std::collections::{BTreeMap, BTreeSet};

use super::accounting::{AccountingLine, AccountingStatus, DroppedTokens, LlmLine, ToolLine};
use super::reports::PendingReport;
use crate::contract::ExecutionContract;
use crate::kernel::{
    Action, AgentOutcome, CheckName, Counters, EntryKind, Event, EventKind, InferenceReturned,
    LostEffect, Outcome, OutcomeCode, Probed, judged_outcome,
};
use crate::message::{
    CallSeq, Digest, EnvelopeStatus, InferenceSeq, ProviderFault, RunId, ToolOutcome, Usage,
};

/// Follows a run entry by entry, and keeps what its result document needs beside the conversation.
///
/// Holds one line for each request and each call; nothing else of what it has seen grows.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    approvals: Approvals,
    at_ms: u64,
    /// Indices of the lines that are final, in the order in which they became so.
    closed: Vec<usize>,
    /// What did not come up, until PRECHECK has been judged.
    bring_up: Vec<String>,
    cause: Option<String>,
    calls: BTreeMap<CallSeq, Slot>,
    counters: Counters,
    entries: u64,
    head: Option<Digest>,
    /// The ids of the calls that have been started and not answered.
    ids: BTreeMap<CallSeq, String>,
    inferences: BTreeMap<InferenceSeq, Slot>,
    lines: Vec<AccountingLine>,
    /// Index of the line of the first call whose answer was no valid result.
    malformed: Option<usize>,
    /// Sizes of the arguments of the message judged last, by call id.
    message: BTreeMap<String, u64>,
    outcome: Option<Outcome>,
    /// The run that the first of this one's parents is, where somebody knows.
    first: Option<RunId>,
    parent: Option<RunId>,
    /// The final report in a tag that nobody has judged yet.
    pub(super) report: Option<PendingReport>,
    /// Calls that messages asked for, started or not.
    requested: u64,
    run_id: Option<RunId>,
    /// The targets that did not answer the probe, each with what was seen.
    silent: Vec<String>,
    started_unix_ms: u64,
    /// Requests for summaries: what comes back calls nothing.
    summaries: BTreeSet<InferenceSeq>,
}

/// A line, and whether its answer is still awaited.
#[derive(Clone, Copy, Debug)]
struct Slot {
    began_ms: u64,
    line: usize,
    open: bool,
    /// Index of the target, for a request.
    target: Option<usize>,
}

mod approvals;
mod effects;

pub(crate) use approvals::Approvals;

impl Ledger {
    /// What became of the calls that waited for a person.
    pub(crate) const fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// A ledger before entry 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next entry: what the machine did, the event that began the step where the entry carries it, and the hash
    /// that the entry got.
    pub fn take(
        &mut self,
        contract: &ExecutionContract,
        action: &Action,
        event: Option<&Event>,
        hash: Digest,
    ) {
        if let Some(event) = event {
            self.at_ms = event.at_ms;
            self.event(contract, &event.event);
            match &event.event {
                EventKind::Probed(probed) => self.silent = silent(contract, probed),
                EventKind::InferenceReturned(returned) if action.kind != EntryKind::Ignored => {
                    self.report_given(contract, action, returned);
                }
                EventKind::ToolReturned(returned) => self.dropped(action, returned.call),
                _ => {}
            }
        }
        self.approvals.take(action, event);
        self.report_settled(action);
        for effect in &action.effects {
            self.effect(contract, action, effect);
        }
        self.counters = action.counters;
        self.entries = self.entries.saturating_add(1);
        self.head = Some(hash);
        self.outcome = action.outcome;
        if let Some(failed) = action.checks.iter().find(|check| !check.ok) {
            let faults = std::mem::take(&mut self.bring_up);
            let details = std::iter::once(failed.detail.clone());
            let details: Vec<String> = match failed.name {
                CheckName::Tools => details.chain(faults).collect(),
                _ => details.collect(),
            };
            self.cause = Some(match failed.name {
                CheckName::Backend if !self.silent.is_empty() => self.silent.join("; "),
                _ => details.join("; "),
            });
        }
    }

    /// What exactly failed where the run did: a check, or the last request or call. In foreign words, and not always known.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        let outcome = self.outcome?;
        match outcome.class {
            AgentOutcome::FailedPreflight if self.cause.is_some() => self.cause.as_deref(),
            AgentOutcome::FailedValidation if outcome.code == OutcomeCode::ToolEnvelope => {
                self.lines.get(self.malformed?)?.error()
            }
            AgentOutcome::FailedPreflight
            | AgentOutcome::FailedProtocolMalformed
            | AgentOutcome::FailedValidation => self.last_of_a_turn()?.error(),
            AgentOutcome::FailedBudgetExhausted => match outcome.code {
                OutcomeCode::AttemptsExhausted
                | OutcomeCode::ProviderAuth
                | OutcomeCode::ProviderQuota => self.last_of_a_turn()?.error(),
                _ => None,
            },
            AgentOutcome::CompletedWithTools
            | AgentOutcome::CompletedChatOnly
            | AgentOutcome::FailedProtocolNoTools
            | AgentOutcome::FailedTimeout
            | AgentOutcome::FailedContractViolation
            | AgentOutcome::Interrupted => None,
        }
    }

    /// The last line that is no summary.
    fn last_of_a_turn(&self) -> Option<&AccountingLine> {
        let mut lines = self.lines.iter().rev();
        lines.find(|line| !matches!(line, AccountingLine::Llm(line) if line.purpose.is_some()))
    }

    /// Says which run was the first of the line that this one was forked along: entry 0 names only the one before.
    pub fn originating_from(&mut self, first: RunId) {
        self.first = Some(first);
    }

    /// The lines that nothing changes any more, in the order in which they became so: each when the entry was taken in which
    /// the request or the call ended.
    pub fn closed(&self) -> impl Iterator<Item = &AccountingLine> {
        self.closed.iter().filter_map(|line| self.lines.get(*line))
    }

    /// Calls that messages asked for, started or not.
    #[must_use]
    pub const fn requested(&self) -> u64 {
        self.requested
    }

    /// The accounting so far, in the order in which requests and calls were started.
    #[must_use]
    pub fn lines(&self) -> &[AccountingLine] {
        &self.lines
    }

    /// Milliseconds since the run began, as of the last event.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.at_ms
    }

    /// When that was, in milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn unix_ms(&self) -> u64 {
        self.started_unix_ms.saturating_add(self.at_ms)
    }

    /// When the run began, in milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn started_unix_ms(&self) -> u64 {
        self.started_unix_ms
    }

    /// The counters after the last entry.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// How many entries there are.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The hash of the last entry.
    #[must_use]
    pub const fn head(&self) -> Option<Digest> {
        self.head
    }

    /// How the run ended, once it has.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// The name of the run, once entry 0 has been seen.
    #[must_use]
    pub const fn run_id(&self) -> Option<&RunId> {
        self.run_id.as_ref()
    }

    /// The entry took a result over that did not fit the context.
    fn dropped(&mut self, action: &Action, call: CallSeq) {
        let dropped = action.blocked.as_ref().and_then(|block| block.dropped);
        let slot = self.calls.get(&call).copied();
        if let (Some(dropped), Some(slot)) = (dropped, slot)
            && let Some(AccountingLine::Tool(line)) = self.line_mut(slot.line)
        {
            line.dropped = Some(DroppedTokens {
                original_tokens: dropped.original,
                replacement_tokens: dropped.replacement,
            });
        }
    }

    /// The number of the next entry of the accounting.
    pub(super) fn next_index(&self) -> u64 {
        u64::try_from(self.lines.len()).unwrap_or(u64::MAX)
    }

    /// The run that this one was forked from.
    pub(super) const fn parent(&self) -> Option<&RunId> {
        self.parent.as_ref()
    }

    /// Adds a line; where it stands.
    pub(super) fn push(&mut self, line: AccountingLine) -> usize {
        self.lines.push(line);
        self.lines.len() - 1
    }

    pub(super) fn line_mut(&mut self, line: usize) -> Option<&mut AccountingLine> {
        self.lines.get_mut(line)
    }

    /// Nothing changes that line any more.
    pub(super) fn close(&mut self, line: usize) {
        self.closed.push(line);
    }

    /// The first run of the line, where it is known.
    pub(super) fn origin(&self) -> Option<RunId> {
        let own = || self.run_id.clone().filter(|_| self.parent.is_none());
        self.first.clone().or_else(own)
    }

    fn event(&mut self, contract: &ExecutionContract, event: &EventKind) {
        match event {
            EventKind::RunStarted(started) => {
                self.run_id = Some(started.run_id.clone());
                self.parent = started.parent.as_ref().map(|parent| parent.run_id.clone());
                self.started_unix_ms = started.started_unix_ms;
                let faults = started.bring_up.iter();
                self.bring_up = faults
                    .map(|f| format!("{}: {}", f.server, f.detail))
                    .collect();
            }
            EventKind::InferenceReturned(returned) => self.inference_returned(contract, returned),
            EventKind::InferenceFailed(failed) => {
                let usage = failed.usage.as_ref();
                self.inference_failed(contract, failed.inference, &failed.fault, usage);
            }
            EventKind::ToolReturned(returned) => {
                self.tool_returned(returned.call, &returned.outcome);
            }
            EventKind::EffectLost(LostEffect::Inference(inference)) => {
                let lost = "lost: the process ended before the answer";
                if let Some((line, true)) = self.llm_line(*inference) {
                    line.error = Some(lost.to_owned());
                }
            }
            EventKind::EffectLost(LostEffect::Call(call)) => {
                let lost = "interrupted, effect unknown";
                if let Some((line, true)) = self.tool_line(*call) {
                    line.error = Some(lost.to_owned());
                }
            }
            EventKind::Probed(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(LostEffect::Probe | LostEffect::Wait)
            | EventKind::Resumed(_) => {}
        }
    }

    fn inference_returned(&mut self, contract: &ExecutionContract, returned: &InferenceReturned) {
        let result = &returned.result;
        let of_run = !self.summaries.contains(&returned.inference);
        if let Some(message) = result.canonical_message.as_ref().filter(|_| of_run) {
            let asked = u64::try_from(message.tool_calls.len()).unwrap_or(u64::MAX);
            self.requested = self.requested.saturating_add(asked);
            self.message = message
                .tool_calls
                .iter()
                .map(|call| (call.id.clone(), size(call.arguments.as_str())))
                .collect();
        }
        let cost = self.cost(contract, returned.inference, &returned.usage);
        let Some((line, awaited)) = self.llm_line(returned.inference) else {
            return;
        };
        line.charge(&returned.usage, cost);
        if !awaited {
            return;
        }
        line.stop_reason = Some(result.stop);
        match result.failure_code {
            None => {
                line.status = AccountingStatus::Ok;
                line.error = None;
            }
            Some(code) => {
                let pointer = result.pointer.as_deref().unwrap_or_default();
                line.error = Some(format!("{code} at {pointer:?}"));
            }
        }
    }

    fn inference_failed(
        &mut self,
        contract: &ExecutionContract,
        inference: InferenceSeq,
        fault: &ProviderFault,
        usage: Option<&Usage>,
    ) {
        let cost = usage.and_then(|usage| self.cost(contract, inference, usage));
        if let Some((line, awaited)) = self.llm_line(inference) {
            if let Some(usage) = usage {
                line.charge(usage, cost);
            }
            if awaited {
                line.error = Some(format!("{}: {}", fault.class.as_str(), fault.message));
            }
        }
    }

    /// What a request cost, as the machine counts it.
    fn cost(
        &self,
        contract: &ExecutionContract,
        inference: InferenceSeq,
        usage: &Usage,
    ) -> Option<u64> {
        let slot = self.inferences.get(&inference);
        contract.cost_micro_usd(slot.and_then(|slot| slot.target), usage)
    }

    fn tool_returned(&mut self, call: CallSeq, outcome: &ToolOutcome) {
        let id = self.ids.remove(&call).unwrap_or_default();
        let Some((line, true)) = self.tool_line(call) else {
            return;
        };
        let outcome = judged_outcome(outcome, &id, &line.command);
        line.error = match outcome.as_ref() {
            ToolOutcome::Returned(envelope) => {
                line.latency = envelope.duration_ms;
                line.characters_in = envelope.bytes_in;
                line.characters_out = envelope.bytes_out;
                if envelope.status == EnvelopeStatus::Ok {
                    line.status = AccountingStatus::Ok;
                }
                let error = envelope.error.as_ref();
                error.map(|error| format!("{}: {}", error.code, error.message))
            }
            ToolOutcome::Malformed { detail, .. } => Some(format!("malformed result: {detail}")),
            ToolOutcome::TimedOut => Some("timeout".to_owned()),
            ToolOutcome::ConnectionLost { detail } => Some(format!("connection lost: {detail}")),
            ToolOutcome::Cancelled => Some("cancelled".to_owned()),
            ToolOutcome::ToolChanged => Some("the server no longer offers this tool".to_owned()),
        };
        if matches!(*outcome, ToolOutcome::Malformed { .. }) {
            let line = self.calls.get(&call).map(|slot| slot.line);
            self.malformed = self.malformed.or(line);
        }
    }

    /// The line of a request, and whether its answer was still awaited; it no longer is.
    fn llm_line(&mut self, inference: InferenceSeq) -> Option<(&mut LlmLine, bool)> {
        let slot = self.inferences.get_mut(&inference)?;
        let awaited = std::mem::replace(&mut slot.open, false);
        if awaited {
            self.closed.push(slot.line);
        }
        match self.lines.get_mut(slot.line) {
            Some(AccountingLine::Llm(line)) => {
                if awaited {
                    line.latency = self.at_ms.saturating_sub(slot.began_ms);
                }
                Some((line, awaited))
            }
            _ => None,
        }
    }

    /// The line of a call, and whether its answer was still awaited; it no longer is.
    fn tool_line(&mut self, call: CallSeq) -> Option<(&mut ToolLine, bool)> {
        let slot = self.calls.get_mut(&call)?;
        let awaited = std::mem::replace(&mut slot.open, false);
        if awaited {
            self.closed.push(slot.line);
        }
        match self.lines.get_mut(slot.line) {
            Some(AccountingLine::Tool(line)) => {
                if awaited {
                    line.latency = self.at_ms.saturating_sub(slot.began_ms);
                }
                Some((line, awaited))
            }
            _ => None,
        }
    }
}

/// The targets that did not answer, by name.
fn silent(contract: &ExecutionContract, probed: &Probed) -> Vec<String> {
    let targets = contract.targets.iter().zip(&probed.targets);
    targets
        .filter(|(_, probed)| !probed.responsive)
        .map(|(target, probed)| {
            let at = if probed.detail.starts_with("http") {
                " at "
            } else {
                ": "
            };
            format!("{}/{}{at}{}", target.provider, target.model, probed.detail)
        })
        .collect()
}

pub(super) fn size(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
