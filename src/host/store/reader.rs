//! The store as those who read see it: which runs there are, and one of them by its name. `run_reader.rs` reads the content of a run.

use std::path::Path;
use std::sync::Arc;

use super::database::{DatabaseReader, RunDriver};
use super::sqlite::SqliteReader;
use super::{DamagedRow, Invocation, LogReport, RunFilter, RunLog, RunReader, RunRow, StoreError};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{LogDeletions, PublicKey, Trust, VerifyReport};

/// The name for the newest run.
pub const NEWEST: &str = "last";
/// Number of candidates listed for an ambiguous prefix.
const CANDIDATES: usize = 10;

/// Reads a store on a separate connection that cannot write.
///
/// ```
/// # use monolith_host::store::{Durability, Store};
/// use monolith_host::store::{StoreError, StoreReader};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("runs.db");
/// # drop(Store::open(&path, Durability::Normal)?);
/// let reader = StoreReader::open(&path)?;
/// assert!(matches!(reader.resolve("last"), Err(StoreError::NoSuchRun { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StoreReader {
    pub(super) database: Box<dyn DatabaseReader>,
}

impl StoreReader {
    /// Opens an existing store.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self::over(Box::new(SqliteReader::open(path)?)))
    }

    /// The store in that database.
    pub(super) fn over(database: Box<dyn DatabaseReader>) -> Self {
        Self { database }
    }

    /// Another reader of the same store.
    pub fn again(&self) -> Result<Self, StoreError> {
        Ok(Self::over(self.database.again()?))
    }

    /// The newest runs first, at most `limit`. Rows that do not read as runs are left out; [`Self::list_rows`] names them.
    pub fn list_runs(&self, limit: usize, filter: RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let mut found = Vec::new();
        if limit > 0 {
            self.each_row(filter, |row| {
                found.extend(row);
                found.len() < limit
            })?;
        }
        Ok(found)
    }

    /// The newest runs first, at most `limit`, and among them what cannot be read as one.
    pub fn list_rows(
        &self,
        limit: usize,
        filter: RunFilter,
    ) -> Result<Vec<Result<RunRow, DamagedRow>>, StoreError> {
        let mut found = Vec::new();
        if limit > 0 {
            self.each_row(filter, |row| {
                found.push(row);
                found.len() < limit
            })?;
        }
        Ok(found)
    }

    /// Hands on the rows of runs, the newest first, and what cannot be read as one, until `take` says no.
    pub fn each_row(
        &self,
        filter: RunFilter,
        mut take: impl FnMut(Result<RunRow, DamagedRow>) -> bool,
    ) -> Result<(), StoreError> {
        self.database.each_row(filter, &mut take)
    }

    /// The run of that name, or of that unique prefix; `last` is the newest. A run below another one, and a step of a workflow, is meant
    /// only where its own name is given.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Ambiguous`]; [`StoreError::Corrupt`] where the newest row does not read.
    pub fn resolve(&self, asked: &str) -> Result<RunId, StoreError> {
        let none = || StoreError::NoSuchRun {
            asked: asked.chars().take(80).collect(),
        };
        if asked == NEWEST {
            // No other run replaces it: a caller that asks for the newest must learn that its row was damaged.
            return self.newest()?.ok_or_else(none);
        }
        let candidates = self.database.names_from(asked, CANDIDATES)?;
        match candidates.as_slice() {
            [] => Err(none()),
            _ if asked.is_empty() => Err(none()),
            // The shortest comes first, so a name that is a prefix of others still names its run.
            [first, ..] if first.as_str() == asked => Ok(first.clone()),
            [only] => Ok(only.clone()),
            _ => Err(StoreError::Ambiguous {
                asked: asked.to_owned(),
                candidates,
            }),
        }
    }

    /// The newest run that no other one has begun.
    fn newest(&self) -> Result<Option<RunId>, StoreError> {
        let mut newest = Ok(None);
        self.each_row(RunFilter::All, |row| {
            newest = match row {
                Ok(row) => match self.lineage(&row.run_id) {
                    Ok(Some(found)) if found.is_below() => return true,
                    Ok(_) => Ok(Some(row.run_id)),
                    Err(fault) => Err(fault),
                },
                Err(row) => Err(row.fault),
            };
            false
        })?;
        newest
    }

    /// The bytes under that hash, as they are stored.
    pub fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.database.blob(hash)
    }

    /// Opens a run as it stands now.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] where there is none of that name.
    pub fn read_run(&mut self, run_id: &RunId) -> Result<RunReader<'_>, StoreError> {
        let path = self.database.path().to_path_buf();
        Ok(RunReader::over(self.database.read_run(run_id)?, path))
    }

    /// Returns the recorded invocation of that run.
    pub fn invocation(&self, run_id: &RunId) -> Result<Option<Invocation>, StoreError> {
        self.database.invocation(run_id)
    }

    /// Who drives a run now; `None` if no process does. Takes no lock away: a process that asks for it meanwhile gets it.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where the lock file cannot be read.
    pub fn driver_of(&self, run_id: &RunId) -> Result<Option<RunDriver>, StoreError> {
        self.database.driver_of(run_id)
    }

    /// The log of runs.
    pub fn run_log(&self) -> Result<RunLog, StoreError> {
        self.database.run_log()
    }

    /// The number and the text of the leaf of that run; none before its seal.
    pub fn log_leaf(&self, run_id: &RunId) -> Result<Option<(u64, String)>, StoreError> {
        self.database.log_leaf(run_id)
    }

    /// Who deleted the run of that name, and why; `None` if none of that name was deleted.
    pub fn deleted(
        &self,
        name: &str,
        keys: &[PublicKey],
    ) -> Result<Option<(String, String)>, StoreError> {
        self.database.deleted(name, keys)
    }

    /// Returns the reason for the deletion of a run that its parent had begun, which may be empty; none if none was deleted.
    /// The note names the entry of the parent run, so that an earlier run of that name explains nothing, and no clock decides.
    /// The signer of the note is not judged.
    pub(crate) fn deleted_below(
        &self,
        run_id: &RunId,
        above: &RunId,
    ) -> Result<Option<String>, StoreError> {
        self.database.deleted_below(run_id, above)
    }

    /// The number of the leaf that stays of a deleted run, and its text.
    pub fn deleted_leaf(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        self.database.deleted_leaf(name)
    }

    /// The deleted runs among the first `size` leaves of the log; the note of leaf `first` comes before the others.
    pub fn log_deletions(&self, size: u64, first: Option<u64>) -> Result<LogDeletions, StoreError> {
        self.database.log_deletions(size, first)
    }

    /// Verifies a stored run row by row, from the bytes of each column; `open` accepts a run in progress.
    ///
    /// Every blob that an entry names must be there, withheld or not.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read at all. What it holds is judged in the report.
    pub fn verify_run(&mut self, run_id: &RunId, open: bool) -> Result<VerifyReport, StoreError> {
        self.verify_run_trusting(run_id, open, &Arc::default())
    }

    /// Like [`Self::verify_run`], checked against keys, heads and witnesses from outside the store.
    pub fn verify_run_trusting(
        &mut self,
        run_id: &RunId,
        open: bool,
        trust: &Arc<Trust>,
    ) -> Result<VerifyReport, StoreError> {
        let report = self.database.verify_run(run_id, open, trust)?;
        report.ok_or_else(|| StoreError::NoSuchRun {
            asked: run_id.to_string(),
        })
    }

    /// Holds the log of runs against the runs of the store, and against heads that were noted earlier.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read at all. What it holds is judged in the report.
    pub fn verify_log(&self, trust: &Trust) -> Result<LogReport, StoreError> {
        self.database.verify_log(trust)
    }
}
