//! The store as those who write see it. Which database is behind it, and how, is for `Database`.

use std::path::Path;
use std::sync::Arc;

use super::database::{Database, RunLock};
use super::erasure::{EraseError, Erased, Erasure, Removal, RemoveError, Removed};
use super::new_run::{Binding, NewRun};
use super::sqlite::{Durability, SqliteWriter};
use super::storable::{Batch, Storable, batch};
use super::{NewBlob, NewCheckpoint, RunHandle, StoreError, StoreReader};
use monolith_core::contract::ExecutionContract;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{EarlierCheckpoints, Note, SealedEntry, SecretKey};

/// The store, opened for writing. It is closed when the last clone is dropped.
///
/// ```
/// use monolith_host::store::{Durability, RunFilter, Store, StoreReader};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("runs.db");
/// let store = Store::open(&path, Durability::Full)?;
/// assert!(store.reader()?.list_runs(10, RunFilter::All)?.is_empty());
/// drop(store);
/// assert!(StoreReader::open(&path).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) database: Arc<dyn Database>,
    signer: Option<Arc<SecretKey>>,
}

impl Store {
    /// Opens the store at `path`, and makes it where there is none. The folder must exist.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        Ok(Self::over(Arc::new(SqliteWriter::open(path, durability)?)))
    }

    /// The store in that database.
    pub(super) fn over(database: Arc<dyn Database>) -> Self {
        Self {
            database,
            signer: None,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Returns the number of transactions committed since it was opened.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.database.commits()
    }

    /// The fault after which it writes nothing any more; `None` while it writes.
    pub fn poison(&self) -> Option<&str> {
        self.database.poison()
    }

    /// The key that signs the checkpoints of runs that are written here; `None` if they are not signed.
    #[must_use]
    pub fn signer(&self) -> Option<&SecretKey> {
        self.signer.as_deref()
    }

    /// Sets the key that signs the checkpoints of runs that are written here.
    #[must_use]
    pub fn signed_by(mut self, signer: SecretKey) -> Self {
        self.signer = Some(Arc::new(signer));
        self
    }

    /// Returns a reader on a separate connection; it sees committed data.
    pub fn reader(&self) -> Result<StoreReader, StoreError> {
        Ok(StoreReader::over(self.database.reader()?))
    }

    /// Locks a run for this process; there need not be a run of that name yet.
    ///
    /// # Errors
    /// [`StoreError::RunLocked`] where another process drives it, [`StoreError::Lock`] where the file cannot be had.
    pub fn lock_run(&self, run_id: &RunId) -> Result<RunLock, StoreError> {
        self.database.lock_run(run_id)
    }

    /// Creates a run with its first entries, and claims it: all of it is durable when this returns, or there is no such
    /// run. The first entries name no blobs.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] where the name is taken, and those of [`Self::append`].
    pub(crate) async fn begin_run<T: Storable>(
        &self,
        new: NewRun,
        entries: Vec<T>,
        checkpoint: Option<NewCheckpoint>,
    ) -> Result<RunHandle, StoreError> {
        let first = batch((&new.run_id, 0), entries, Vec::new(), checkpoint)?;
        let end = first.end(0);
        let mut run = self.database.begin_run(new, first).await?;
        run.move_to(end);
        Ok(run)
    }

    /// Creates a run without entries, and claims it.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] where the name is taken.
    pub async fn create_run(
        &self,
        run_id: &RunId,
        contract: &ExecutionContract,
        created_unix_ms: u64,
    ) -> Result<RunHandle, StoreError> {
        let new = NewRun {
            binding: Binding::Contract(Arc::new(contract.clone())),
            created_unix_ms,
            invocation: None,
            run_id: run_id.clone(),
        };
        self.begin_run(new, Vec::<SealedEntry>::new(), None).await
    }

    /// Takes a run over: the handle that held it before is fenced from now on.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] where there is none of that name, [`StoreError::Imported`] and [`StoreError::Erased`] where it
    /// can be read, not driven.
    pub async fn claim_run(&self, run_id: &RunId) -> Result<RunHandle, StoreError> {
        self.database.claim_run(run_id.clone()).await
    }

    /// Appends entries to the run's head, with the blobs they name, as one batch: all of it is durable when this
    /// returns, or none of it. A batch that ends with the seal also records the outcome in the row of the run.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where somebody else has claimed the run, [`StoreError::OutOfOrder`] where the entries do
    /// not continue it, and the faults of the file.
    pub async fn append(
        &self,
        run: &mut RunHandle,
        entries: Vec<SealedEntry>,
        blobs: Vec<NewBlob>,
    ) -> Result<(), StoreError> {
        self.append_signed(run, entries, blobs, None).await
    }

    /// [`Self::append`] with a checkpoint of the entries so far, durable with them.
    pub(crate) async fn append_signed<T: Storable>(
        &self,
        run: &mut RunHandle,
        entries: Vec<T>,
        blobs: Vec<NewBlob>,
        checkpoint: Option<NewCheckpoint>,
    ) -> Result<(), StoreError> {
        let batch = batch((&run.run_id, run.length), entries, blobs, checkpoint)?;
        self.append_batch(run, batch).await
    }

    /// Appends a batch, and moves the handle behind it.
    pub(super) async fn append_batch(
        &self,
        run: &mut RunHandle,
        batch: Batch,
    ) -> Result<(), StoreError> {
        let Some(end) = batch.end(run.length) else {
            return Ok(());
        };
        self.database.append(run, batch).await?;
        run.move_to(Some(end));
        Ok(())
    }

    /// Makes bytes durable under their hash. No entry names them yet.
    pub async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        self.database.put_blob(bytes).await
    }

    /// Returns the summary of the kept checkpoints of a run, as the checkpoint of its seal has to state it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where one of them is no note, and the faults of the file.
    pub(crate) async fn earlier_checkpoints(
        &self,
        run: &RunHandle,
    ) -> Result<EarlierCheckpoints, StoreError> {
        let mut earlier = EarlierCheckpoints::default();
        for stored in self.database.checkpoints(run).await? {
            let note: Note = stored.parse().map_err(|fault| StoreError::Corrupt {
                path: self.path().to_owned(),
                reason: format!(
                    "checkpoints, run {}: note: expected a signed note, got {fault}",
                    run.run_id
                ),
            })?;
            earlier.add(note.text());
        }
        Ok(earlier)
    }

    /// Deletes runs with everything that only they use. A signed note stays of each, and its leaf in the
    /// log. Forks and continuations stay, and so do blobs that another run uses.
    ///
    /// # Errors
    /// [`RemoveError`]; nothing is changed then. A run that a process drives is [`StoreError::RunLocked`]. What is found only after
    /// some were deleted is in `Removed::stopped`.
    pub fn remove(&self, asked: &Removal<'_>) -> Result<Removed, RemoveError> {
        self.database.remove(asked)
    }

    /// Erases a blob of a run for good, and leaves a signed tombstone in its place.
    ///
    /// The tombstone is durable before the files are rewritten without the bytes. Where that is cut off, doing it again finishes it.
    ///
    /// # Errors
    /// [`EraseError`]; nothing is changed but under [`EraseError::Unfinished`].
    pub fn erase(&self, asked: &Erasure<'_>) -> Result<Erased, EraseError> {
        let hash = self.reader()?.named_blob(&asked.run_id, &asked.blob)?;
        self.database.erase(hash, asked)
    }
}
