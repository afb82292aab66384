//! The whole run, folded once from its entries. Knows entries; does not know displays or stores.

use std::sync::Arc;

use super::agreement::Agreement;
use super::calls::Calls;
use super::reports::Reports;
use super::requested_calls::{Refusal, RequestedCalls};
use super::requests::Requests;
use super::run_start::Decision;
use super::servers::Servers;
use super::tree_usage::UsageTotals;
use super::turns::{Activities, Turns};
use super::work_changes::{WorkChanges, changes_files};
use super::{Approvals, Entry, Preflight, RequestEnd, RunStart};
use crate::contract::{ExecutionContract, ToolPolicy};
use crate::kernel::{
    Action, ClosingReason, Counters, EffectRecord, EntryKind, EventKind, FlowRecord,
    InferenceReturned, LostEffect, Outcome, Run, RunClock, RunStarted, State, ToolReturned,
};
use crate::message::{Digest, InferenceSeq, ProtocolAdapterResult, RunId, ToolOutcome, Usage};

mod effects;
mod facts;
mod offence;

pub use offence::Offence;

/// A run, folded once from its entries.
///
/// An entry costs what its new bytes cost. What is kept grows by one fixed-size record for each request, call and turn, and by
/// the arguments of calls.
///
/// ```
/// use std::sync::Arc;
///
/// use monolith_core::view::{Entry, RunView};
/// # use std::collections::BTreeMap;
/// # use monolith_core::contract::ExecutionContract;
/// # use monolith_core::transcript::{LineReader, Record, SealedEntry};
///
/// # let text = std::fs::read("../../replay/v1/core.valid_call.jsonl")?;
/// # let (mut reader, mut header, mut entries) = (LineReader::new(), None, Vec::new());
/// # let mut blobs = BTreeMap::new();
/// # for line in text.split_inclusive(|byte| *byte == b'\n') {
/// #     match reader.read(line)? {
/// #         Record::Header(found) => header = Some((ExecutionContract::decode(found.contract)?, found.run_id)),
/// #         Record::Entry(entry) => entries.push(SealedEntry::from(&*entry)),
/// #         Record::Blob(blob) => drop(blobs.insert(blob.hash, blob.bytes.to_vec())),
/// #         _ => {}
/// #     }
/// # }
/// # let (contract, run_id) = header.ok_or("no header")?;
/// let mut view = RunView::new(Arc::new(contract));
/// for entry in &entries {
///     let (action, event) = (entry.decode_action()?, entry.decode_event()?);
///     view.take(Entry { action: &action, event: event.as_ref(), hash: entry.hash });
/// }
/// assert!(view.outcome().is_some_and(|end| end.class.is_success()));
/// assert_eq!(view.run_id(), Some(&run_id));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    activities: Activities,
    agreement: Agreement,
    approvals: Approvals,
    requested: RequestedCalls,
    at_ms: u64,
    calls: Calls,
    clock: RunClock,
    closing: Option<ClosingReason>,
    contract: Arc<ExecutionContract>,
    /// The digest of the conversation after the last entry.
    conversation: Option<Digest>,
    counters: Counters,
    decisions: Vec<Decision>,
    entries: u64,
    /// The decisions of `flow` rules about calls, each with its entry, in the order of the entries.
    flows: Vec<(u64, FlowRecord)>,
    /// Bytes of text that the token gate held back.
    held_back: u64,
    head: Option<Digest>,
    /// The request whose response is being judged.
    judged: Option<InferenceSeq>,
    /// The last refusal by VALIDATE_CALLS of all messages.
    last_refusal: Option<(Refusal, String)>,
    /// The first run of the line of forks, where the caller knows it.
    origin: Option<RunId>,
    end_note: Option<String>,
    outcome: Option<Outcome>,
    preflight: Preflight,
    /// The refusal by VALIDATE_CALLS of the last message without an authorised call.
    refused: Option<String>,
    reports: Reports,
    requests: Requests,
    servers: Servers,
    start: Option<RunStart>,
    /// The workflow and the step that the run stands below, joined by a colon, where the caller knows it.
    step_path: Option<String>,
    suspended: bool,
    /// True if the process before the last one had suspended the run.
    was_suspended: bool,
    turns: Turns,
    /// The request of the closing turn whose message asks for calls: COMMIT decides whether it is an answer.
    undecided: Option<InferenceSeq>,
    usage: UsageTotals,
    work_changes: WorkChanges,
}

/// The time and tokens between an entry and the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Milliseconds.
    pub took_ms: u64,
    /// Tokens that were counted.
    pub tokens: u64,
}

impl RunView {
    /// The view of a run before entry 0. It folds the events, to hold each entry against the one that the machine makes of them.
    #[must_use]
    pub fn new(contract: Arc<ExecutionContract>) -> Self {
        let agreement = Agreement::folding(Arc::clone(&contract));
        Self::held_against(agreement, contract)
    }

    /// Builds the view of a run whose machine the caller has, before entry 0. The caller passes the entries as that machine
    /// decides them, and the view steps no machine.
    pub fn following(contract: Arc<ExecutionContract>) -> Self {
        Self::held_against(Agreement::following(), contract)
    }

    fn held_against(agreement: Agreement, contract: Arc<ExecutionContract>) -> Self {
        Self {
            activities: Activities::default(),
            agreement,
            approvals: Approvals::default(),
            requested: RequestedCalls::default(),
            at_ms: 0,
            calls: Calls::default(),
            clock: RunClock::default(),
            closing: None,
            contract,
            conversation: None,
            counters: Counters::default(),
            decisions: Vec::new(),
            entries: 0,
            flows: Vec::new(),
            held_back: 0,
            head: None,
            judged: None,
            last_refusal: None,
            origin: None,
            end_note: None,
            outcome: None,
            preflight: Preflight::default(),
            refused: None,
            reports: Reports::default(),
            requests: Requests::default(),
            servers: Servers::default(),
            start: None,
            step_path: None,
            suspended: false,
            was_suspended: false,
            turns: Turns::default(),
            undecided: None,
            usage: UsageTotals::default(),
            work_changes: WorkChanges::default(),
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

    /// Returns the machine's reason for refusing the calls of the last message, if it authorised none.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Returns the machine's reason for the last refusal of calls, even if a later message asked for none.
    #[must_use]
    pub fn last_refusal(&self) -> Option<&str> {
        self.last_refusal.as_ref().map(|(_, note)| note.as_str())
    }

    /// Returns the machine's sentence about the end of the run, where its code does not say enough.
    #[must_use]
    pub fn end_note(&self) -> Option<&str> {
        self.end_note.as_deref()
    }

    /// Returns true if that entry, the last one taken, refuses calls of the model.
    pub fn refuses_calls(&self, action: &Action) -> bool {
        action.from == State::ValidateCalls
            && action.kind == EntryKind::Transition
            && action.note.is_some()
            && self.requested.are_refused(&self.contract)
    }

    /// Returns the changes of the run to files of its workspace, as far as its calls tell.
    pub const fn work_changes(&self) -> &WorkChanges {
        &self.work_changes
    }

    /// Returns true if the run may have changed more files than its calls tell: not all were compared, or a call that changes
    /// files has no result.
    pub fn may_have_changed_more(&self) -> bool {
        let mut changing = self
            .calls
            .all()
            .values()
            .filter(|call| changes_files(&call.name));
        self.work_changes.incomplete()
            || changing.any(|call| call.executions.iter().any(|made| made.result().is_none()))
    }

    /// Takes the next entry.
    pub fn take(&mut self, entry: Entry<'_>) -> Step {
        let Entry {
            action,
            event,
            hash,
        } = entry;
        if action.from == State::Commit && action.to == State::Terminate {
            self.end_note.clone_from(&action.note);
        }
        if action.from == State::ValidateCalls && action.to == State::Commit {
            self.refused.clone_from(&action.note);
        }
        if self.refuses_calls(action) {
            let cause = self.requested.refusal(&self.contract);
            self.last_refusal = action.note.clone().map(|note| (cause, note));
        }
        if action.from == State::ValidateCalls
            && action.kind == EntryKind::Transition
            && let Some(judged) = self.judged.take()
        {
            let kept = self.conversation != Some(action.conversation_digest);
            if kept && self.undecided.is_some() {
                self.requests.keep(judged);
            } else {
                let note = action.note.as_ref();
                self.requests
                    .settle(&mut self.activities, judged, kept, note);
            }
        }
        if action.from == State::Commit
            && let Some(undecided) = self.undecided.take()
        {
            let answered = action.outcome.is_some_and(|end| end.class.is_success());
            self.requests
                .decide(&mut self.activities, undecided, answered);
        }
        self.conversation = Some(action.conversation_digest);
        let (before_ms, before_tokens) = (self.at_ms, self.counters.tokens());
        if let Some(event) = event {
            self.at_ms = self.at_ms.max(event.at_ms);
            self.event(action, &event.event);
        }
        if let Some((call, end)) = self.approvals.take(action, event) {
            self.calls.settle(call, end, event);
            self.clock.unpark(self.at_ms);
        }
        if action.from == State::ValidateCalls {
            self.requested.judged(&action.flow);
            let flows = action.flow.iter().cloned();
            self.flows.extend(flows.map(|flow| (action.seq, flow)));
        }
        if action.from == State::Execute {
            self.waits_for_ends(action);
        }
        let asked_by = self.approvals.asked_by();
        if let Some(asked) = self.approvals.awaited() {
            self.clock.park(self.at_ms);
            self.calls
                .await_approval(&self.contract, &mut self.requested, asked, asked_by);
        }
        self.reports.settle(&mut self.activities, action);
        self.turns.begun(action.counters.turns, self.counted_ms());
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
        self.agreement.take(entry);
        self.agreement.counted(self.miscounted(action.to));
        Step {
            took_ms: self.at_ms.saturating_sub(before_ms),
            tokens: self.counters.tokens().saturating_sub(before_tokens),
        }
    }

    /// The time of a run stands still while only the ends of runs below it are waited for: from the cancellation to the end of EXECUTE.
    fn waits_for_ends(&mut self, action: &Action) {
        if action.to != State::Execute {
            self.clock.unpark(self.at_ms);
        } else if action.from == State::Execute && action.effects.contains(&EffectRecord::Cancel) {
            self.clock.park(self.at_ms);
        }
    }

    /// Holds what was taken against the machine of the run itself: its driver knows whether anything was left out.
    pub fn end(&mut self, run: &Run) {
        self.agreement.end(run);
    }

    /// Hands out the machine that the events were folded through, which is that of the last entry; none before entry 0.
    pub fn release_machine(&mut self) -> Option<Run> {
        self.agreement.release()
    }

    /// No entry follows for now: an entry that the machine has written and that was not given is missing.
    pub fn pause(&mut self) {
        self.agreement.pause();
    }

    /// Returns the count in which this view differs from the machine. Judges only a state in which both have counted
    /// everything.
    fn miscounted(&self, state: State) -> Option<&'static str> {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let (counters, usage) = (&self.counters, &self.usage);
        let tokens = (usage.input, usage.output, usage.cache_read);
        let counted = (
            counters.tokens_in,
            counters.tokens_out,
            counters.tokens_cache_read,
        );
        // The machine counts what was executed when it observes.
        let observed = !matches!(state, State::Execute | State::Observe);
        let sums = [
            (
                "requests",
                number(self.requests.all().len()) == counters.inferences,
            ),
            (
                "turns",
                number(self.turns.all().len()) == u64::from(counters.turns),
            ),
            ("tokens", tokens == counted),
            ("costs", usage.cost_micro_usd == counters.cost_micro_usd),
            (
                "executed calls",
                !observed || self.calls.executed() == (counters.executed, counters.executed_ok),
            ),
        ];
        let off = sums.into_iter().find(|(_, same)| !same);
        off.map(|(what, _)| what)
    }

    /// States which run was the first of the line that this one was forked along: entry 0 names only the one before.
    pub fn originating_from(&mut self, first: RunId) {
        self.origin = Some(first);
    }

    fn event(&mut self, action: &Action, event: &EventKind) {
        match event {
            EventKind::RunStarted(started) => self.started(started),
            EventKind::Probed(probed) => self.preflight.probed.clone_from(&probed.targets),
            EventKind::CallStreamed(streamed) => {
                if action.kind != EntryKind::Ignored {
                    self.requested.take_early(streamed);
                }
            }
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
                let lost = (*lost, self.was_suspended);
                self.calls.lost(&mut self.activities, lost, self.at_ms);
            }
            EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(LostEffect::Probe | LostEffect::Wait) => {}
            EventKind::Suspended => self.suspended |= action.kind != EntryKind::Ignored,
            EventKind::Resumed(resumed) => {
                self.was_suspended = std::mem::take(&mut self.suspended);
                self.servers.resumed(self.entries, resumed);
            }
        }
    }

    fn started(&mut self, started: &RunStarted) {
        self.preflight.bring_up.clone_from(&started.bring_up);
        self.reports = Reports::of_run(&self.contract, &started.run_id);
        self.servers.started(self.entries, started);
        if !self.contract.asks_model() {
            self.requested.take(None, started.given_call());
            self.requested.count_tools(&self.contract);
        }
        self.start = Some(RunStart::from(started));
    }

    fn returned(&mut self, action: &Action, returned: &InferenceReturned) {
        if let Some(request) = self.requests.all().get(&returned.inference) {
            self.servers
                .answered(self.entries, request.target, returned);
        }
        let (inference, result) = (returned.inference, &returned.result);
        let in_time = action.kind != EntryKind::Ignored;
        if let Some(withheld) = result.withheld.filter(|withheld| !withheld.blank) {
            self.held_back = self.held_back.saturating_add(withheld.bytes);
        }
        if in_time && !self.requests.is_beside(inference) {
            self.judged = Some(inference);
            self.undecided = self.is_undecided(result).then_some(inference);
            self.requested
                .take(Some(inference), result.canonical_message.as_ref());
            self.requested.count_tools(&self.contract);
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

    /// True if a message of the closing turn asks for calls, which are withheld, and its text is no answer by itself.
    fn is_undecided(&self, result: &ProtocolAdapterResult) -> bool {
        let Some(message) = &result.canonical_message else {
            return false;
        };
        let has_text = !message.is_blank() || result.withheld.is_some_and(|held| !held.blank);
        let (report, form) = (&self.contract.final_report, &self.contract.response_format);
        let answers = has_text && report.is_none() && form.is_none();
        let violates = self.contract.tool_policy == ToolPolicy::Forbidden;
        self.closing.is_some() && !message.tool_calls.is_empty() && !answers && !violates
    }

    fn call_returned(&mut self, action: &Action, returned: &ToolReturned) {
        let (call, at_ms) = (returned.call, self.at_ms);
        if let ToolOutcome::Returned(envelope) = &returned.outcome {
            self.work_changes.take(&envelope.changes);
        }
        self.calls.returned(&mut self.activities, returned, at_ms);
        if matches!(
            returned.outcome,
            ToolOutcome::InputRequired(_) | ToolOutcome::SamplingRequired(_)
        ) {
            return;
        }
        self.turns.returned(call);
        if let Some(dropped) = action.blocked.iter().find_map(|block| block.dropped) {
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
}
