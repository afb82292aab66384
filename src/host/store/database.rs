//! The interface of a database that holds transcripts: all that [`Store`](super::Store), [`StoreReader`](super::StoreReader) and
//! [`RunReader`](super::RunReader) ask of one.
//!
//! It is dyn-compatible. SQLite is one implementation (`sqlite/`). `conformance.rs` states what every one has to do, and tests it.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use monolith_core::kernel::{Approval, ParentRun};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{
    LogDeletions, ParentFound, PublicKey, SealedMachineEntry, TranscriptKind, Trust, VerifyReport,
};

use super::StoreError;
use super::answer::Answer;
use super::elsewhere::Elsewhere;
use super::erasure::{EraseError, Erased, Erasure, Removal, RemoveError, Removed};
use super::log_report::{LogReport, RunLog};
use super::new_run::{Invocation, NewRun};
use super::run::{DamagedRow, RunFilter, RunHandle, RunRow};
use super::storable::Batch;

/// The answer of a database that is waited for.
pub(super) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A database that is open for writing. Whatever it acknowledges is durable.
pub(super) trait Database: fmt::Debug + Send + Sync {
    /// Name of the store in messages; files of this machine that belong to it lie beside this path.
    fn path(&self) -> &Path;

    /// Opens a reader, which sees what is committed.
    fn reader(&self) -> Result<Box<dyn DatabaseReader>, StoreError>;

    /// Creates a run with its first entries and claims it, or does neither. The entries name no blobs.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] where the name is taken.
    fn begin_run(&self, new: NewRun, first: Batch) -> Pending<'_, RunHandle>;

    /// Claims a run with the next epoch, which fences the previous holder from now on.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Imported`], [`StoreError::Erased`].
    fn claim_run(&self, run_id: RunId) -> Pending<'_, RunHandle>;

    /// Appends a batch if epoch, length and head of the run are those of the handle, and writes nothing otherwise. A seal
    /// also enters the outcome in the row of the run and a leaf in the log of runs.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where they are not, and [`StoreError::ReceiptBehind`] where another receipt has become the last one.
    fn append<'a>(&'a self, run: &'a RunHandle, batch: Batch) -> Pending<'a, ()>;

    /// Makes bytes durable under their hash. No entry names them yet.
    fn put_blob(&self, bytes: Vec<u8>) -> Pending<'_, Digest>;

    /// Returns the notes of a run's checkpoints, in the order of their numbers of entries.
    fn checkpoints<'a>(&'a self, run: &'a RunHandle) -> Pending<'a, Vec<String>>;

    /// Keeps every other process from driving the run; there need not be a run of that name yet.
    ///
    /// # Errors
    /// [`StoreError::RunLocked`] where another process drives it.
    fn lock_run(&self, run_id: &RunId) -> Result<RunLock, StoreError>;

    /// Returns the answer that was left for a run.
    fn left_answer(&self, run_id: &RunId) -> Result<Option<Answer>, StoreError>;

    /// Removes the answer that was left to this call of the run. Where somebody is changing it, it stays.
    fn drop_answer(&self, run_id: &RunId, approval: &Approval) -> Result<(), StoreError>;

    /// Removes whatever answer was left for a run.
    fn drop_any_answer(&self, run_id: &RunId) -> Result<(), StoreError>;

    /// Deletes runs; see [`Store::remove`](super::Store::remove).
    fn remove(&self, asked: &Removal<'_>) -> Result<Removed, RemoveError>;

    /// Erases the blob of that hash; see [`Store::erase`](super::Store::erase).
    fn erase(&self, hash: Digest, asked: &Erasure<'_>) -> Result<Erased, EraseError>;

    /// Number of transactions that were committed since it was opened.
    fn commits(&self) -> u64;

    /// The fault after which it writes nothing more.
    fn poison(&self) -> Option<&str>;
}

/// A database that is open for reading.
pub(super) trait DatabaseReader: fmt::Debug + Send {
    /// As [`Database::path`].
    fn path(&self) -> &Path;

    /// Opens another reader of the same database.
    fn again(&self) -> Result<Box<dyn DatabaseReader>, StoreError>;

    /// Passes on the rows of runs, the newest first, until `take` returns false.
    fn each_row(
        &self,
        filter: RunFilter,
        take: &mut dyn FnMut(Result<RunRow, DamagedRow>) -> bool,
    ) -> Result<(), StoreError>;

    /// Returns up to `most` names of runs that begin so, sorted; without runs below another one that begins so.
    fn names_from(&self, prefix: &str, most: usize) -> Result<Vec<RunId>, StoreError>;

    /// Returns the names of runs that begin with that and a point, in the order of their creation.
    fn names_below(&self, prefix: &str) -> Result<Vec<String>, StoreError>;

    /// Returns how far a run has come; `None` if there is none of that name.
    fn standing(&self, run_id: &RunId) -> Result<Option<Standing>, StoreError>;

    /// Opens a run as it stands now.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] where there is none of that name.
    fn read_run<'r>(&'r mut self, run_id: &RunId) -> Result<Box<dyn RunRows + 'r>, StoreError>;

    /// Returns the bytes under that hash.
    fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the hash of a run's first entry.
    fn first_entry(&self, run_id: &RunId) -> Result<Option<Digest>, StoreError>;

    /// Returns the parent that the first entry of a run names; `None` also if that entry does not read back.
    fn parent(&self, run_id: &RunId) -> Result<Option<ParentRun>, StoreError>;

    /// Looks for the entry of a run that has this hash.
    fn find_entry(&self, run_id: &RunId, hash: Digest) -> Result<ParentFound, StoreError>;

    /// Returns how a run was asked for.
    fn invocation(&self, run_id: &RunId) -> Result<Option<Invocation>, StoreError>;

    /// Returns the process that drives a run now.
    fn driver_of(&self, run_id: &RunId) -> Result<Option<RunDriver>, StoreError>;

    /// As [`Database::left_answer`].
    fn left_answer(&self, run_id: &RunId) -> Result<Option<Answer>, StoreError>;

    /// Replaces `found` with an answer. Returns false, and changes nothing, if another one was left or the run does not have
    /// that many entries.
    fn leave_answer(
        &self,
        run_id: &RunId,
        answer: &Answer,
        found: (Option<&Answer>, u64),
    ) -> Result<bool, StoreError>;

    /// Returns the log of runs.
    fn run_log(&self) -> Result<RunLog, StoreError>;

    /// Returns the hash of the last receipt in the log, and the number of receipts so far.
    fn last_receipt(&self) -> Result<Option<(Digest, u64)>, StoreError>;

    /// Returns number and text of the leaf of a run.
    fn log_leaf(&self, run_id: &RunId) -> Result<Option<(u64, String)>, StoreError>;

    /// Returns who deleted the last run of that name, and why.
    fn deleted(
        &self,
        name: &str,
        keys: &[PublicKey],
    ) -> Result<Option<(String, String)>, StoreError>;

    /// Returns why a run that `above` had begun was deleted.
    fn deleted_below(&self, run_id: &RunId, above: &RunId) -> Result<Option<String>, StoreError>;

    /// Returns number and text of the leaf that stays of a deleted run.
    fn deleted_leaf(&self, name: &str) -> Result<Option<(u64, String)>, StoreError>;

    /// Returns the notes of the deleted runs among the first `size` leaves; that of leaf `first` comes before the others.
    fn log_deletions(&self, size: u64, first: Option<u64>) -> Result<LogDeletions, StoreError>;

    /// Returns the entries and the blobs, the one of hash `except` left out, in which a text is found.
    fn holding(&self, texts: &AhoCorasick, except: Digest) -> Result<Vec<Elsewhere>, StoreError>;

    /// Verifies a run from its stored bytes; `None` if there is none of that name.
    fn verify_run(
        &self,
        run_id: &RunId,
        open: bool,
        trust: &Arc<Trust>,
    ) -> Result<Option<VerifyReport>, StoreError>;

    /// Verifies the log of runs.
    fn verify_log(&self, trust: &Trust) -> Result<LogReport, StoreError>;
}

/// One run as it stood when it was opened, whatever is appended meanwhile.
pub(super) trait RunRows: fmt::Debug {
    /// The row of the index.
    fn row(&self) -> &RunRow;

    /// The document that the run is bound to.
    fn document(&self) -> &str;

    /// Passes on some of the entries from that one on, in order: at least one, if there is one.
    fn page(
        &self,
        from: u64,
        take: &mut dyn FnMut(SealedMachineEntry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Returns the bytes under that hash.
    fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the hashes of the run's blobs, sorted.
    fn blob_hashes(&self) -> Result<Vec<Digest>, StoreError>;

    /// Returns the notes of the run's checkpoints, in the order of their numbers of entries.
    fn checkpoints(&self) -> Result<Vec<String>, StoreError>;

    /// Returns the notes of the run's tombstones, in the order of the hashes.
    fn tombstones(&self) -> Result<Vec<String>, StoreError>;
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// True if it has no seal.
    pub(super) is_open: bool,
    /// The machine that it is of.
    pub(super) kind: TranscriptKind,
    /// The number of its last entry; `None` before the first.
    pub(super) last: Option<u64>,
}

/// The right of this process to drive one run, which no other process has at the same time. It is given up with the process, however
/// that ends.
#[derive(Debug)]
pub struct RunLock(pub(super) Box<dyn HeldRun>);

impl RunLock {
    /// Gives the lock up and removes what is left of it: for a run that is sealed, and for one that was never created.
    pub fn discard(self) {
        self.0.discard();
    }
}

/// A lock of a database on a run. Dropping it releases the run.
pub(super) trait HeldRun: fmt::Debug + Send + Sync {
    /// Gives the run up and removes what is left of the lock.
    fn discard(self: Box<Self>);
}

/// The process that drives a run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunDriver {
    /// Its id, where it has written it down.
    pub pid: Option<u32>,
}
