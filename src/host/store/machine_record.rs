//! Makes the entries of a machine other than that of runs durable, and signs its seal. Does not know what an
//! entry decides.

use super::storable::{NewReceipt, batch};
use super::{Binding, Invocation, NewBlob, NewCheckpoint, NewRun, RunHandle, Store, StoreError};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{
    Chain, Checkpoint, EarlierCheckpoints, SealedMachineEntry, SealedOutcome,
};

/// The chain of one machine, and where its next entries go.
#[derive(Debug)]
pub(crate) struct MachineRecord<'s> {
    chain: Chain,
    destination: Destination,
    run_id: RunId,
    store: &'s Store,
}

#[derive(Debug)]
enum Destination {
    /// A row that comes to be with them.
    New(Box<NewRun>),
    /// The head of a stored one.
    Stored(RunHandle),
}

impl<'s> MachineRecord<'s> {
    /// Records a machine from its beginning.
    pub(crate) fn beginning(
        store: &'s Store,
        binding: Binding,
        run_id: &RunId,
        created_unix_ms: u64,
        invocation: Option<Invocation>,
    ) -> Self {
        Self {
            chain: Chain::genesis(binding.hash(), run_id),
            destination: Destination::New(Box::new(NewRun {
                binding,
                created_unix_ms,
                invocation,
                run_id: run_id.clone(),
            })),
            run_id: run_id.clone(),
            store,
        }
    }

    /// Continues at the head of a stored one.
    pub(crate) fn resumed(store: &'s Store, handle: RunHandle) -> Self {
        Self {
            chain: handle.chain(),
            run_id: handle.run_id().clone(),
            destination: Destination::Stored(handle),
            store,
        }
    }

    /// Returns true if part of it is durable.
    pub(crate) const fn has_begun(&self) -> bool {
        matches!(self.destination, Destination::Stored(_))
    }

    /// The hash of the last entry.
    pub(crate) const fn head(&self) -> Digest {
        self.chain.head()
    }

    /// The chain after the last entry.
    pub(super) const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The name of its row.
    pub(super) const fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The store of its entries.
    pub(super) const fn store(&self) -> &'s Store {
        self.store
    }

    /// Appends the entries that `seal` chains as one batch. When this returns, they are durable.
    pub(crate) async fn append(
        &mut self,
        seal: impl FnOnce(&mut Chain) -> Vec<SealedMachineEntry>,
    ) -> Result<(), StoreError> {
        let mut chain = self.chain.clone();
        let entries = seal(&mut chain);
        self.append_sealed(chain, entries, Vec::new(), None).await
    }

    /// Appends entries that are chained already, and the blobs that they name; a receipt, which is one of the blobs, becomes durable
    /// with them. Entry 0 names no blob.
    pub(super) async fn append_sealed(
        &mut self,
        chain: Chain,
        entries: Vec<SealedMachineEntry>,
        blobs: Vec<NewBlob>,
        receipt: Option<NewReceipt>,
    ) -> Result<(), StoreError> {
        let sealed = entries.last().map(SealedMachineEntry::sealed_outcome);
        // A seal that states no outcome is refused where the batch is made.
        let checkpoint = match sealed {
            Some(Ok(Some(outcome))) => self.checkpoint(&chain, outcome).await?,
            _ => None,
        };
        match &mut self.destination {
            Destination::New(new) => {
                let new = NewRun::clone(new);
                let handle = self.store.begin_run(new, entries, checkpoint).await?;
                self.destination = Destination::Stored(handle);
            }
            Destination::Stored(handle) => {
                let at = (&handle.run_id, handle.length);
                let mut batch = batch(at, entries, blobs, checkpoint)?;
                batch.receipt = receipt;
                self.store.append_batch(handle, batch).await?;
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
    ) -> Result<Option<NewCheckpoint>, StoreError> {
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
