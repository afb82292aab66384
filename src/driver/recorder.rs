use super::DriverError;
use crate::kernel::EntryDraft;
use crate::message::Digest;
use crate::store::{NewBlob, NewRun, RunHandle, Store};
use crate::transcript::{Chain, SealedEntry};

/// Seals entries and makes them durable, with the blobs that they name.
#[derive(Debug)]
pub(super) struct Recorder<'s> {
    blobs: Vec<NewBlob>,
    chain: Chain,
    place: Place,
    store: &'s Store,
}

/// Where the next entries go.
#[derive(Debug)]
enum Place {
    /// Into a run that comes to be with them: there is no run without its beginning.
    New(Box<NewRun>),
    /// To the head of a stored run.
    Stored(RunHandle),
}

impl<'s> Recorder<'s> {
    /// Records a run from its beginning.
    pub(super) fn beginning(store: &'s Store, new: NewRun) -> Self {
        Self {
            blobs: Vec::new(),
            chain: Chain::genesis(new.contract.contract_hash(), &new.run_id),
            place: Place::New(Box::new(new)),
            store,
        }
    }

    /// Goes on at the head of a stored run.
    pub(super) const fn going_on(store: &'s Store, handle: RunHandle) -> Self {
        Self {
            blobs: Vec::new(),
            chain: handle.chain(),
            place: Place::Stored(handle),
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
        match &mut self.place {
            Place::New(new) => {
                let new = NewRun::clone(new);
                let handle = self.store.begin_run(new, sealed.clone()).await?;
                self.place = Place::Stored(handle);
            }
            Place::Stored(handle) => {
                let blobs = std::mem::take(&mut self.blobs);
                self.store.append(handle, sealed.clone(), blobs).await?;
            }
        }
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
