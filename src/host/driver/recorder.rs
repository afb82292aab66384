//! Makes entries durable and signs checkpoints. Does not know what an entry decides.

use std::io;
use std::path::Path;

use monolith_core::kernel::State;
use monolith_core::message::Digest;
use monolith_core::session::Append;
use monolith_core::transcript::EarlierCheckpoints;

use super::DriverError;
use crate::store::{KeptFiles, NewBlob, NewCheckpoint, NewRun, RunHandle, Store};
use crate::tools::{FileKeeper, KeptContent};

/// Makes entries durable, with the blobs that they name, and signs the checkpoints.
#[derive(Debug)]
pub(super) struct Recorder<'s> {
    blobs: Vec<NewBlob>,
    destination: Destination,
    store: &'s Store,
}

/// The target of the next entries.
#[derive(Debug)]
enum Destination {
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
            destination: Destination::New(Box::new(new)),
            store,
        }
    }

    /// Continues at the head of a stored run.
    pub(super) const fn going_on(store: &'s Store, handle: RunHandle) -> Self {
        Self {
            blobs: Vec::new(),
            destination: Destination::Stored(handle),
            store,
        }
    }

    /// Returns true if the run is in the store.
    pub(super) const fn has_begun(&self) -> bool {
        matches!(self.destination, Destination::Stored(_))
    }

    /// Keeps bytes that the next entry names; they become durable no later than it.
    pub(super) fn keep(&mut self, bytes: Vec<u8>) {
        self.blobs.push(NewBlob::Bytes(bytes));
    }

    /// The bytes of a blob that an entry names, also of an earlier process; `None` if they cannot be read.
    pub(super) async fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        let store = self.store.clone();
        let read = tokio::task::spawn_blocking(move || store.reader()?.blob(hash));
        read.await.ok()?.ok().flatten()
    }

    /// Appends one step's entries as one batch, and takes the blobs. When this returns, they are durable.
    pub(super) async fn append(&mut self, append: &mut Append) -> Result<(), DriverError> {
        let entries = append.entries.clone();
        let checkpoint = self.checkpoint(append).await?;
        let named = std::mem::take(&mut append.blobs);
        match &mut self.destination {
            Destination::New(new) => {
                let new = NewRun::clone(new);
                let stored = self.store.begin_run(new, entries, checkpoint);
                self.destination = Destination::Stored(stored.await?);
            }
            Destination::Stored(handle) => {
                let mut blobs = std::mem::take(&mut self.blobs);
                blobs.extend(named.into_iter().map(NewBlob::Bytes));
                self.store
                    .append_signed(handle, entries, blobs, checkpoint)
                    .await?;
            }
        }
        Ok(())
    }

    /// The signed checkpoint, where one is due and there is a key.
    async fn checkpoint(&self, append: &Append) -> Result<Option<NewCheckpoint>, DriverError> {
        let (Some(signer), Some(due), Some(last)) = (
            self.store.signer(),
            append.checkpoint.as_ref(),
            append.entries.last(),
        ) else {
            return Ok(None);
        };
        // Which ones were signed, by what process and with which key, the store alone knows.
        let earlier = match &self.destination {
            Destination::Stored(handle) if last.state == State::Terminate => {
                self.store.earlier_checkpoints(handle).await?
            }
            Destination::Stored(_) | Destination::New(_) => EarlierCheckpoints::default(),
        };
        Ok(Some(NewCheckpoint {
            entries: last.seq.saturating_add(1),
            note: signer.sign(earlier.complete(due)).to_string(),
        }))
    }
}

impl FileKeeper for KeptFiles {
    fn keep(&self, workspace: &Path, content: Option<KeptContent<'_>>) -> io::Result<bool> {
        let content = content.map(|content| (content.bytes, content.mode));
        self.keep_of(workspace, content)
    }

    fn settle(&self) -> io::Result<()> {
        Self::settle(self)
    }

    fn content(&self, hash: Digest) -> io::Result<Option<Vec<u8>>> {
        Self::content(self, hash)
    }
}
