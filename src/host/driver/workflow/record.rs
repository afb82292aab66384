//! Makes the entries of a workflow durable, and signs its seal. Does not know what an entry decides.

use std::sync::Arc;

use crate::driver::DriverError;
use crate::store::{Binding, Invocation, NewCheckpoint, NewRun, RunHandle, Store};
use monolith_core::agent::WorkflowDraft;
use monolith_core::contract::WorkflowDefinition;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{
    Chain, Checkpoint, EarlierCheckpoints, SealedOutcome, SealedWorkflowEntry,
};

/// The chain of one workflow, and where its next entries go.
pub(super) struct WorkflowRecord<'s> {
    chain: Chain,
    destination: Destination,
    run_id: RunId,
    store: &'s Store,
}

enum Destination {
    /// A workflow that comes to be with them.
    New(Box<NewRun>),
    /// The head of a stored one.
    Stored(RunHandle),
}

impl<'s> WorkflowRecord<'s> {
    /// Records a workflow from its beginning.
    pub(super) fn beginning(
        store: &'s Store,
        definition: &Arc<WorkflowDefinition>,
        run_id: &RunId,
        created_unix_ms: u64,
        invocation: Option<Invocation>,
    ) -> Self {
        let new = NewRun {
            binding: Binding::Workflow(Arc::clone(definition)),
            created_unix_ms,
            invocation,
            run_id: run_id.clone(),
        };
        Self {
            chain: Chain::genesis(definition.definition_hash(), run_id),
            destination: Destination::New(Box::new(new)),
            run_id: run_id.clone(),
            store,
        }
    }

    /// Continues at the head of a stored one.
    pub(super) fn going_on(store: &'s Store, handle: RunHandle) -> Self {
        Self {
            chain: handle.chain(),
            run_id: handle.run_id().clone(),
            destination: Destination::Stored(handle),
            store,
        }
    }

    /// Returns true if part of it is durable.
    pub(super) const fn has_begun(&self) -> bool {
        matches!(self.destination, Destination::Stored(_))
    }

    /// The hash of the last entry.
    pub(super) const fn head(&self) -> Digest {
        self.chain.head()
    }

    /// Appends the entries of one step as one batch. When this returns, they are durable.
    pub(super) async fn append(&mut self, drafts: &[WorkflowDraft]) -> Result<(), DriverError> {
        let mut chain = self.chain.clone();
        let entries: Vec<SealedWorkflowEntry> = drafts
            .iter()
            .map(|draft| {
                let action = &draft.action;
                chain.seal_workflow(action.seq, action.to.as_str(), action, draft.event.as_ref())
            })
            .collect();
        let sealed = drafts.last().and_then(|last| {
            let sealed = last.action.length.is_some();
            last.action.outcome.filter(|_| sealed)
        });
        let checkpoint = match sealed {
            Some(outcome) => self.checkpoint(&chain, outcome.into()).await?,
            None => None,
        };
        match &mut self.destination {
            Destination::New(new) => {
                let new = NewRun::clone(new);
                let handle = self.store.begin_run(new, entries, checkpoint).await?;
                self.destination = Destination::Stored(handle);
            }
            Destination::Stored(handle) => {
                self.store
                    .append_signed(handle, entries, Vec::new(), checkpoint)
                    .await?;
            }
        }
        self.chain = chain;
        Ok(())
    }

    /// The signed checkpoint of the seal, where there is a key.
    async fn checkpoint(
        &self,
        chain: &Chain,
        outcome: SealedOutcome,
    ) -> Result<Option<NewCheckpoint>, DriverError> {
        let Some(signer) = self.store.signer() else {
            return Ok(None);
        };
        let due = Checkpoint::sealed_as(chain, &self.run_id, Some(outcome)).due();
        let earlier = match &self.destination {
            Destination::Stored(handle) => self.store.earlier_checkpoints(handle).await?,
            Destination::New(_) => EarlierCheckpoints::default(),
        };
        let note = signer.sign(earlier.complete(&due)).to_string();
        let entries = chain.length();
        Ok(Some(NewCheckpoint { entries, note }))
    }
}
