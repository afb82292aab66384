use super::DriverError;
use crate::kernel::EntryDraft;
use crate::message::Digest;
use crate::store::{NewBlob, RunHandle, Store};
use crate::transcript::{Chain, SealedEntry};

/// Seals entries and makes them durable, with the blobs that they name.
#[derive(Debug)]
pub(super) struct Recorder<'s> {
    blobs: Vec<NewBlob>,
    chain: Chain,
    handle: RunHandle,
    store: &'s Store,
}

impl<'s> Recorder<'s> {
    pub(super) const fn new(store: &'s Store, handle: RunHandle) -> Self {
        Self {
            blobs: Vec::new(),
            chain: handle.chain(),
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
        let sealed: Vec<SealedEntry> = drafts.iter().map(|draft| self.chain.seal(draft)).collect();
        let blobs = std::mem::take(&mut self.blobs);
        self.store
            .append(&mut self.handle, sealed.clone(), blobs)
            .await?;
        Ok(sealed)
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
