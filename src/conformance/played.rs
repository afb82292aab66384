//! The results of a played case: the session's end, its entries, its transcript.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::metrics::RunFacts;
use monolith_core::contract::{ExecutionContract, ToolPolicy};
use monolith_core::kernel::{
    AgentOutcome, EntryDraft, EntryKind, InferRequest, Run, RunStarted, State,
};
use monolith_core::message::{AdapterStatus, Digest, RunId};
use monolith_core::replay::{ReplayReport, Replayer};
use monolith_core::transcript::{
    Presence, SealedEntry, blob_line, blob_references, entry_line, header_line,
};
use monolith_core::view::{Entry, RequestEnd, RunView};

/// A run that was played to its end, and everything it left behind.
pub(super) struct Played {
    pub(super) blobs: BTreeMap<Digest, Vec<u8>>,
    /// The bodies of all requests, in order.
    pub(super) bodies: Vec<Digest>,
    pub(super) cancels: u64,
    pub(super) contract: Arc<ExecutionContract>,
    pub(super) drafts: Vec<EntryDraft>,
    pub(super) entries: Vec<SealedEntry>,
    /// True if every verdict on a response was the adapter's own.
    pub(super) replayable: bool,
    pub(super) requests: Vec<InferRequest>,
    pub(super) run: Run,
    pub(super) started: RunStarted,
    pub(super) view: OnceCell<RunView>,
    pub(super) waits: Vec<u64>,
}

impl Played {
    pub(super) const fn run_id(&self) -> &RunId {
        &self.started.run_id
    }

    /// `CLASS (code)`.
    pub(super) fn end(&self) -> String {
        self.run
            .outcome()
            .map_or_else(|| self.run.state().to_string(), |o| o.to_string())
    }

    pub(super) fn class(&self) -> Option<AgentOutcome> {
        self.run.outcome().map(|outcome| outcome.class)
    }

    /// The states that the run passed, the first one included.
    pub(super) fn path(&self) -> Vec<State> {
        let moves = self.drafts.iter().map(|draft| &draft.action);
        let moves = moves.filter(|action| action.kind == EntryKind::Transition);
        std::iter::once(State::Precheck)
            .chain(moves.map(|action| action.to))
            .collect()
    }

    /// The run as its entries tell it, folded once.
    pub(super) fn view(&self) -> &RunView {
        self.view.get_or_init(|| {
            let entries = self.drafts.iter().zip(&self.entries);
            let entries = entries.map(|(draft, sealed)| Entry::sealed(draft, sealed.hash));
            RunView::of(Arc::clone(self.run.contract()), entries)
        })
    }

    /// Returns the run's part of the metrics.
    pub(super) fn facts(&self) -> RunFacts {
        let view = self.view();
        let (counters, outcome) = (view.counters(), view.outcome());
        let verdicts = || {
            let ends = view.requests().values().filter_map(|r| r.end.as_ref());
            ends.filter_map(|end| match end {
                RequestEnd::Returned { status, .. } => Some(*status),
                RequestEnd::Failed { .. } | RequestEnd::Lost | RequestEnd::GivenUp => None,
            })
        };
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let rejected = verdicts().filter(|status| *status == AdapterStatus::Rejected);
        RunFacts {
            class: outcome.map(|outcome| outcome.class),
            elapsed_ms: view.at_ms(),
            executed: counters.executed,
            inferences: counters.inferences,
            out_of_turns: counters.turns >= self.contract.max_turns,
            rejected: count(rejected.count()),
            required: self.contract.tool_policy == ToolPolicy::Required,
            responses: count(verdicts().count()),
        }
    }

    /// The transcript, replayed with every blob.
    pub(super) fn replay(&self) -> ReplayReport {
        let contract = (*self.contract).clone();
        let mut replayer = Replayer::new(contract, self.run_id());
        for entry in &self.entries {
            replayer.take(entry, &self.blobs);
        }
        replayer.finish(false)
    }

    /// The transcript as a file, with the blobs that must be there: without withheld text, and without the bodies of requests,
    /// which a replay makes again.
    pub(super) fn transcript(&self) -> String {
        let mut file = header_line(&self.contract.canonical_text(), self.run_id());
        file.extend(self.entries.iter().map(entry_line));
        for (hash, bytes) in self.evidence() {
            file.push_str(&blob_line(hash, bytes));
        }
        file
    }
    /// The blobs that the events name and that a file must hold.
    pub(super) fn evidence(&self) -> impl Iterator<Item = (Digest, &[u8])> {
        let named = self.drafts.iter().filter_map(|draft| draft.event.as_ref());
        let named: BTreeSet<Digest> = named
            .flat_map(blob_references)
            .filter(|reference| reference.presence == Presence::Needed)
            .map(|reference| reference.hash)
            .collect();
        let blobs = self.blobs.iter();
        let blobs = blobs.filter(move |(hash, _)| named.contains(hash));
        blobs.map(|(hash, bytes)| (*hash, bytes.as_slice()))
    }
}
