use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::contract::ExecutionContract;
use crate::kernel::{AgentOutcome, EntryDraft, InferRequest, Run, RunStarted};
use crate::message::{Digest, RunId};
use crate::replay::{ReplayReport, Replayer};
use crate::transcript::{
    Presence, SealedEntry, blob_line, blob_references, entry_line, header_line,
};

/// A run that was played to its end, and everything it left behind.
pub(super) struct Played {
    pub(super) blobs: BTreeMap<Digest, Vec<u8>>,
    pub(super) cancels: u64,
    pub(super) contract: Arc<ExecutionContract>,
    pub(super) drafts: Vec<EntryDraft>,
    pub(super) entries: Vec<SealedEntry>,
    /// Whether every verdict on a response was the adapter's own.
    pub(super) replayable: bool,
    pub(super) requests: Vec<InferRequest>,
    pub(super) run: Run,
    pub(super) started: RunStarted,
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
        let named = self.drafts.iter().filter_map(|draft| draft.event.as_ref());
        let named: BTreeSet<Digest> = named
            .flat_map(blob_references)
            .filter(|reference| reference.presence == Presence::Needed)
            .map(|reference| reference.hash)
            .collect();
        for (hash, bytes) in self.blobs.iter().filter(|(hash, _)| named.contains(hash)) {
            file.push_str(&blob_line(*hash, bytes));
        }
        file
    }
}
