use super::DriverError;
use crate::kernel::{EntryDraft, EntryKind};
use crate::message::Digest;
use crate::store::{NewBlob, NewCheckpoint, RunHandle, Store};
use crate::transcript::{Chain, Checkpoint, SealedEntry};

/// Seals entries and makes them durable, with the blobs that they name.
#[derive(Debug)]
pub(super) struct Recorder<'s> {
    blobs: Vec<NewBlob>,
    chain: Chain,
    checkpoint_every: u64,
    handle: RunHandle,
    store: &'s Store,
}

impl<'s> Recorder<'s> {
    /// A recorder for the run of that handle; a checkpoint is signed at the seal and whenever so many entries have been added.
    pub(super) const fn new(store: &'s Store, handle: RunHandle, checkpoint_every: u64) -> Self {
        Self {
            blobs: Vec::new(),
            chain: handle.chain(),
            checkpoint_every,
            handle,
            store,
        }
    }

    /// Keeps bytes that the next entry names; they become durable no later than it.
    pub(super) fn keep(&mut self, bytes: Vec<u8>) {
        self.blobs.push(NewBlob::Bytes(bytes));
    }

    /// Appends one step's entries as one batch. When this returns, they are durable.
    pub(super) async fn append(
        &mut self,
        drafts: &[EntryDraft],
    ) -> Result<Vec<SealedEntry>, DriverError> {
        let before = self.chain.length();
        let sealed: Vec<SealedEntry> = drafts.iter().map(|draft| self.chain.seal(draft)).collect();
        let blobs = std::mem::take(&mut self.blobs);
        let checkpoint = self.checkpoint(before, drafts);
        self.store
            .append_signed(&mut self.handle, sealed.clone(), blobs, checkpoint)
            .await?;
        Ok(sealed)
    }

    /// The signed checkpoint at the head, where one is due and somebody signs.
    fn checkpoint(&self, before: u64, drafts: &[EntryDraft]) -> Option<NewCheckpoint> {
        let signer = self.store.signer()?;
        let entries = self.chain.length();
        let last = drafts.last().map(|draft| &draft.action);
        let seal = last.filter(|action| action.kind == EntryKind::Seal);
        let passed = |count: u64| count.checked_div(self.checkpoint_every);
        if seal.is_none() && passed(before) == passed(entries) {
            return None;
        }
        let outcome = seal.and_then(|action| action.outcome);
        let checkpoint = Checkpoint::of(&self.chain, self.handle.run_id(), outcome);
        let note = checkpoint.sign(signer).to_string();
        Some(NewCheckpoint { entries, note })
    }

    /// The hash of the last entry.
    pub(super) const fn head(&self) -> Digest {
        self.chain.head()
    }

    /// How many entries there are.
    pub(super) const fn length(&self) -> u64 {
        self.chain.length()
    }
}
