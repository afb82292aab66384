//! The identity of the machine's state: the digest in every entry, and the key by which exploration merges states.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::batch::{BatchCall, FailedEnd, Settled, Shown, Slot};
use super::child_run::Share;
use super::context::ContextLedger;
use super::early_call::EarlyKey;
use super::faults::LeftOut;
use super::history::CallHistory;
use super::holds::Holds;
use super::machine::{Machine, Verdict};
use super::stage::{Awaited, StageView};
use super::turn::Turn;
use super::{ClosingReason, Counters, Interrupter, Outcome, Run, State};
use crate::contract::{Label, RulePlace};
use crate::message::{
    CallSeq, Digest, DigestContext, EnvelopeStatus, ToolEnvelope, estimate_tokens,
};

/// True if digests of states and events are left out: never in the shipped machine.
#[cfg(not(test))]
#[inline]
pub(super) const fn leaves_out_digests() -> bool {
    false
}

#[cfg(test)]
pub(super) use without::{leaves_out_digests, without_digests};

#[cfg(test)]
mod without {
    use std::cell::Cell;

    thread_local! {
        static WITHOUT: Cell<bool> = const { Cell::new(false) };
    }

    pub(in crate::kernel) fn leaves_out_digests() -> bool {
        WITHOUT.get()
    }

    /// Does `work` with the digests of states and of events left out on this thread. No decision reads them, they are no part of
    /// the key that exploration merges states by, and they would take half of its time.
    pub(in crate::kernel) fn without_digests<T>(work: impl FnOnce() -> T) -> T {
        WITHOUT.set(true);
        let result = work();
        WITHOUT.set(false);
        result
    }
}

static STATE_CONTEXT: DigestContext = DigestContext::new("monolith state v1");

/// Everything that a decision can depend on but time: two runs with equal keys react equally to equal events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each mirrors a flag of the machine; together they are a key, not a state"
)]
pub struct DecisionKey {
    state: State,
    counters: CountersKey,
    turn: Turn,
    phase: PhaseKey,
    verdict: Verdict,
    closing: Option<ClosingReason>,
    stop_requested: bool,
    suspended: bool,
    invalid_turns: u32,
    plain_texts: u32,
    early: Option<EarlyKey>,
    delegations: Vec<DelegationKey>,
    dropped: BTreeSet<usize>,
    /// The rest of a hold is no moment: it decides which target is asked next.
    holds: Vec<(usize, u32, u64)>,
    left_out: LeftOut,
    overflowed: BTreeMap<usize, u64>,
    overran: BTreeSet<usize>,
    interrupted: Option<InterrupterKey>,
    context: ContextLedger,
    context_tripped: bool,
    inference_succeeded: bool,
    gate_open: bool,
    proven: bool,
    history: CallHistory,
    labels: BTreeSet<Label>,
    batch: Vec<CallKey>,
    parked: bool,
    notice_tokens: u64,
    /// The kind of the report, and for a failed one the tokens of its answer.
    report: (u8, u64),
    tools_changed: BTreeSet<String>,
    outcome: Option<Outcome>,
}

type CountersKey = (u64, u64, u64, u64, u32, u64, u32, u64, [u64; 4]);
type DelegationKey = (CallSeq, u64, Option<u64>, u64);
type CallKey = (String, u8, CallSeq, u64);
type InterrupterKey = u8;
type PhaseKey = (u8, u64);

impl StageView<'_> {
    /// Each call's name, where it stands, which call it is, and the tokens of the observation that it will become.
    fn batch_key(self) -> Vec<CallKey> {
        let named = |name: &String, (stands, seq, tokens)| (name.clone(), stands, seq, tokens);
        match self {
            Self::Execute(batch) => {
                batch
                    .calls
                    .iter()
                    .map(|call| named(&call.invocation.name, slot_key(call)))
                    .chain(batch.unwanted.iter().map(|(inference, bytes)| {
                        (String::new(), 25, CallSeq(inference.0), *bytes)
                    }))
                    .chain(share_key(batch.share))
                    .chain(ending_key(batch.ending))
                    .chain(batch.calls.iter().filter_map(below_key))
                    .chain(batch.calls.iter().filter_map(report_key))
                    .collect()
            }
            Self::Observe(ended) => ended
                .calls
                .iter()
                .map(|call| named(&call.invocation.name, settled_key(&call.slot)))
                .chain(ended.calls.iter().filter_map(below_key))
                .chain(ended.calls.iter().filter_map(report_key))
                .collect(),
            Self::Precheck
            | Self::Infer(_)
            | Self::ValidateCalls
            | Self::Commit
            | Self::Terminate(_) => Vec::new(),
        }
    }

    /// Returns the key of the awaited event. OBSERVE keeps that of EXECUTE, unless EXECUTE was cut short.
    const fn phase_key(self) -> (u8, u64) {
        match self {
            Self::Precheck => (1, 0),
            Self::Infer(Awaited::Inference(inference)) => (2, inference.0),
            Self::Infer(Awaited::Wait { until_ms }) => (3, until_ms),
            Self::Infer(Awaited::Due { not_before_ms }) => (5, not_before_ms),
            Self::Execute(_) => (4, 0),
            Self::Observe(ended) if !ended.cut_short => (4, 0),
            Self::Observe(_) | Self::ValidateCalls | Self::Commit | Self::Terminate(_) => (0, 0),
        }
    }
}

impl Machine {
    /// Digest of the whole machine in that state. What grows over the run (events, conversation, calls) enters through rolling
    /// digests and counters, so this costs the size of the running step.
    pub(super) fn state_digest(&self, at: StageView<'_>) -> Digest {
        if leaves_out_digests() {
            return Digest::ZERO;
        }
        STATE_CONTEXT.framed(&[
            self.state_text(at).as_bytes(),
            self.events.as_bytes(),
            self.conversation.digest().as_bytes(),
        ])
    }

    /// The machine in that state as JSON, without the events and the conversation.
    fn state_text(&self, at: StageView<'_>) -> String {
        #[derive(Serialize)]
        struct Condition<'a> {
            at_ms: u64,
            batch: Vec<CallKey>,
            closing: Option<ClosingReason>,
            context: (u64, u64, u64),
            counters: &'a Counters,
            /// Omitted if no child run is active.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            delegations: Vec<DelegationKey>,
            dropped: &'a BTreeSet<usize>,
            /// Left out where no call started before its message was complete.
            #[serde(skip_serializing_if = "Option::is_none")]
            early: Option<EarlyKey>,
            flags: [bool; 6],
            /// Rolls with every authorised call: which, in what order, by which exception.
            history: Digest,
            /// Left out where every target's last answer was no fault.
            #[serde(skip_serializing_if = "Holds::is_empty")]
            holds: &'a Holds,
            interrupted: Option<Interrupter>,
            invalid_turns: u32,
            /// Left out where nothing labelled was shown, and under contracts without rules of `flow`.
            #[serde(skip_serializing_if = "BTreeSet::is_empty")]
            labels: BTreeSet<Label>,
            last_call: Option<&'a str>,
            /// Left out where no target refused a parameter.
            #[serde(skip_serializing_if = "LeftOut::is_empty")]
            left_out: &'a LeftOut,
            notices: u64,
            outcome: Option<Outcome>,
            /// Left out where no target reported an overflow.
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            overflowed: &'a BTreeMap<usize, u64>,
            /// Left out where no answer was longer than its limit.
            #[serde(skip_serializing_if = "BTreeSet::is_empty")]
            overran: &'a BTreeSet<usize>,
            parked: (u64, Option<u64>),
            phase: (u8, u64),
            /// Left out unless the last response was plain text that drew a notice.
            #[serde(skip_serializing_if = "Option::is_none")]
            plain_texts: Option<u32>,
            /// Left out where there is none: runs of before final reports have the same digests.
            #[serde(skip_serializing_if = "Option::is_none")]
            report: Option<u8>,
            state: State,
            tools_changed: &'a BTreeSet<String>,
            turn: &'a Turn,
            verdict: &'a Verdict,
        }
        let condition = Condition {
            at_ms: self.at_ms,
            batch: at.batch_key(),
            closing: self.closing,
            context: (self.context.current, self.context.pending, self.context.new),
            counters: &self.counters,
            delegations: self.delegations_key().collect(),
            dropped: &self.dropped,
            early: self.early_key(),
            flags: [
                self.stop_requested,
                self.suspended,
                self.context_tripped.is_some(),
                self.inference_succeeded,
                self.gate_open,
                self.proof.is_some(),
            ],
            history: self.history.digest,
            holds: &self.holds,
            interrupted: self.interrupted,
            invalid_turns: self.invalid_turns,
            labels: self.deciding_labels(),
            last_call: self.history.last.as_deref(),
            left_out: &self.left_out,
            notices: self.notice_tokens(),
            outcome: at.outcome(),
            overflowed: &self.overflowed,
            overran: &self.overran,
            parked: self.clock.key(),
            phase: at.phase_key(),
            plain_texts: Some(self.plain_texts).filter(|count| *count > 0),
            report: Some(self.report.key()).filter(|key| *key > 0),
            state: at.state(),
            tools_changed: &self.tools_changed,
            turn: &self.turn,
            verdict: &self.verdict,
        };
        // Integers, booleans and strings only: serialising them cannot fail.
        serde_json::to_string(&condition).unwrap_or_default()
    }

    /// The labels seen, where a rule of `flow` depends on them.
    fn deciding_labels(&self) -> BTreeSet<Label> {
        if self.contract.flow.is_empty() {
            return BTreeSet::new();
        }
        self.labels.labels()
    }

    fn delegations_key(&self) -> impl Iterator<Item = DelegationKey> {
        let delegations = self.delegations.iter();
        delegations.map(|(call, grant)| {
            (
                *call,
                grant.max_tokens,
                grant.max_cost_micro_usd,
                grant.total_timeout_ms,
            )
        })
    }

    fn notice_tokens(&self) -> u64 {
        self.notices
            .iter()
            .fold(0, |sum: u64, notice| sum.saturating_add(notice.tokens))
    }
}

/// Returns a key if a tool returned an ok result below an agent's call; `None` otherwise.
fn below_key<S>(call: &BatchCall<S>) -> Option<CallKey> {
    let proves = call.delegated.as_ref()?.tools_ok > 0;
    proves.then(|| (call.invocation.id.clone(), 27, CallSeq(0), 1))
}

/// The labels of an agent's report that the model was not shown yet; none where it has none.
fn report_key<S>(call: &BatchCall<S>) -> Option<CallKey> {
    let labels = &call.delegated.as_ref()?.labels;
    let words: Vec<&str> = labels.iter().map(|label| label.word()).collect();
    (!words.is_empty()).then(|| {
        (
            format!("{} {}", call.invocation.id, words.join(" ")),
            29,
            CallSeq(0),
            1,
        )
    })
}

/// Returns a key if only the ends of child runs are awaited; `None` otherwise.
fn ending_key(ending: bool) -> Option<CallKey> {
    ending.then(|| (String::new(), 28, CallSeq(0), 0))
}

/// Returns the key of the message's share for agent calls; `None` without a share.
fn share_key(share: Share) -> Option<CallKey> {
    let cost = share
        .cost_micro_usd
        .map_or(0, |cost| cost.saturating_add(1));
    (share != Share::default()).then(|| (String::new(), 26, CallSeq(share.tokens), cost))
}

fn slot_key(call: &BatchCall<Slot>) -> (u8, CallSeq, u64) {
    let questions = u64::from(call.questions);
    match &call.slot {
        Slot::Settled(settled) => settled_key(settled),
        Slot::Pending(seq) => (1, *seq, 0),
        Slot::ToAsk(seq, by) => match rule_key(*by) {
            // As a call that is pending was before there were rules: its name says that a person is asked.
            0 => (1, *seq, 0),
            key => (23, *seq, key),
        },
        Slot::Awaiting(seq, by) => (2, *seq, rule_key(*by)),
        Slot::Running(seq) => (3, *seq, questions),
        // Which question it is stands in the events.
        Slot::Asking { call, asked } => {
            let resumable = u64::from(asked.resume.is_some());
            (21, *call, questions << 1 | resumable)
        }
        // It was started before, and continues.
        Slot::Approved(seq) if call.input.is_some() => (22, *seq, questions),
        Slot::Approved(seq) => (17, *seq, questions),
        // What is asked stands in the events; its size is judged when it is due.
        Slot::Unsampled { call, asked } => {
            let resumable = u64::from(asked.resume.is_some());
            (23, *call, asked.bytes << 8 | questions << 1 | resumable)
        }
        Slot::Sampling {
            asked, inference, ..
        } => {
            let resumable = u64::from(asked.resume.is_some());
            let asked = asked.bytes << 8 | questions << 1 | resumable;
            (24, CallSeq(inference.0), asked)
        }
        Slot::Unsummarised { call, envelope } => (18, *call, envelope.tokens),
        Slot::Summarising {
            envelope,
            inference,
            ..
        } => (15, CallSeq(inference.0), envelope.tokens),
    }
}

/// Returns the key of the rule that asks a person; 0 for the name list.
const fn rule_key(by: RulePlace) -> u64 {
    match by {
        RulePlace::RequireApproval => 0,
        RulePlace::Approval(n) => 2 * n as u64 + 1,
        RulePlace::Flow(n) => 2 * n as u64 + 2,
    }
}

fn settled_key(settled: &Settled) -> (u8, CallSeq, u64) {
    match settled {
        Settled::Answered(reason) => (0, CallSeq(0), estimate_tokens(&reason.observation())),
        Settled::Acknowledged(text) => (13, CallSeq(0), estimate_tokens(text)),
        Settled::Report => (14, CallSeq(0), 0),
        Settled::Returned {
            call,
            envelope,
            shown,
        } => {
            let (stands, tokens) = returned_key(envelope, shown);
            (stands, *call, tokens)
        }
        Settled::Failed { call, end } => {
            let stands = match end {
                FailedEnd::Malformed => 8,
                FailedEnd::TimedOut => 9,
                FailedEnd::ConnectionLost => 10,
                FailedEnd::Cancelled => 11,
                FailedEnd::ToolChanged => 12,
                FailedEnd::RestartInProgress => 19,
                FailedEnd::RestartFailed => 20,
            };
            (stands, *call, 0)
        }
    }
}

fn returned_key(envelope: &ToolEnvelope, shown: &Shown) -> (u8, u64) {
    match (envelope.status, shown) {
        (_, Shown::Summary { tokens, .. }) => (16, *tokens),
        (EnvelopeStatus::Ok, Shown::Cut) => (4, envelope.tokens),
        (EnvelopeStatus::Ok, Shown::Nothing) => (5, 0),
        (EnvelopeStatus::Error, Shown::Cut) => (6, envelope.tokens),
        (EnvelopeStatus::Error, Shown::Nothing) => (7, 0),
    }
}

impl Run {
    /// The machine's state as JSON. Its digest, with those of the events and of the conversation, is that of the last entry.
    #[must_use]
    pub fn state_text(&self) -> String {
        self.storage().state_text(self.stage().view())
    }

    /// The digest of the machine's state: that of the last entry.
    #[must_use]
    pub fn state_digest(&self) -> Digest {
        self.storage().state_digest(self.stage().view())
    }

    /// The key that two states share exactly when they react equally to equal events before any deadline.
    #[must_use]
    pub fn decision_key(&self) -> DecisionKey {
        let m = self.storage();
        let c = &m.counters;
        let at = self.stage().view();
        // When a wait ends is time; that there is one is not.
        let phase = match at.phase_key() {
            (3, _) => (3, 0),
            (5, until_ms) => (5, u64::from(until_ms > m.at_ms)),
            other => other,
        };
        DecisionKey {
            state: at.state(),
            counters: (
                c.calls,
                c.cost_micro_usd,
                c.executed,
                c.executed_ok,
                c.format_retries,
                c.inferences,
                c.resumes,
                c.tokens(),
                [
                    c.agents_ok,
                    c.below_cost_micro_usd,
                    c.below_tokens,
                    c.below_tools_ok,
                ],
            ),
            turn: m.turn.timeless(),
            phase,
            verdict: m.verdict.clone(),
            closing: m.closing,
            stop_requested: m.stop_requested,
            suspended: m.suspended,
            invalid_turns: m.invalid_turns,
            plain_texts: m.plain_texts,
            early: m.early_key(),
            // How long they may go on is time.
            delegations: m
                .delegations_key()
                .map(|(call, tokens, cost, _)| (call, tokens, cost, 0))
                .collect(),
            dropped: m.dropped.clone(),
            holds: m.holds.key(m.at_ms),
            left_out: m.left_out.clone(),
            overflowed: m.overflowed.clone(),
            overran: m.overran.clone(),
            interrupted: m.interrupted.map(|by| match by {
                Interrupter::Abort => 0,
                Interrupter::Shutdown => 1,
                Interrupter::Parent => 2,
            }),
            context: m.context,
            context_tripped: m.context_tripped.is_some(),
            inference_succeeded: m.inference_succeeded,
            gate_open: m.gate_open,
            proven: m.proof.is_some(),
            // The order in which the calls came about decides nothing beyond what the other fields say.
            history: CallHistory {
                digest: Digest::ZERO,
                ..m.history.clone()
            },
            labels: m.deciding_labels(),
            batch: at.batch_key(),
            parked: m.clock.parked_since().is_some(),
            notice_tokens: m.notice_tokens(),
            report: (m.report.key(), m.report.answer_tokens()),
            tools_changed: m.tools_changed.clone(),
            outcome: at.outcome(),
        }
    }
}
