//! Reading a store: which runs there are, and one of them by its name. `run_reader.rs` reads the content of a run.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::blob::blob;
use super::column::Columns;
use super::connection::BUSY;
use super::open_reader::open_reader;
use super::run_row::{ROW, damaged, run_row};
use super::schema::refusal;
use super::store_file::StoreFile;
use super::{DamagedRow, RunFilter, RunReader, RunRow, StoreError};
use monolith_core::message::{Digest, RunId};

/// What names the newest run.
pub const NEWEST: &str = "last";
/// How many candidates an ambiguous prefix names.
const CANDIDATES: usize = 10;

/// Reads a store on a connection of its own that cannot write.
///
/// ```
/// # use monolith::{Durability, Store};
/// use monolith::{StoreError, StoreReader};
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
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
}

impl StoreReader {
    /// Opens an existing store.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = StoreFile::of(path)?;
        Ok(Self {
            conn: open_reader(&file, BUSY)?,
            path: file.path().to_path_buf(),
        })
    }

    /// Another reader of the same store.
    pub fn again(&self) -> Result<Self, StoreError> {
        Self::open(&self.path)
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
        let (open, sealed, class) = match filter {
            RunFilter::All => (true, true, None),
            RunFilter::Open => (true, false, None),
            RunFilter::Sealed => (false, true, None),
            RunFilter::Class(class) => (false, true, Some(class.as_str())),
        };
        let sql = |fault: rusqlite::Error| refusal(&self.conn, &self.path, &fault);
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "{ROW} WHERE CASE WHEN class IS NULL THEN ?1 ELSE ?2 AND (?3 IS NULL OR class = ?3) END \
                 ORDER BY created_unix_ms DESC, id DESC"
            ))
            .map_err(sql)?;
        let mut rows = select.query(params![open, sealed, class]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            if !take(run_row(row, &self.path).map_err(|fault| damaged(row, fault))) {
                break;
            }
        }
        Ok(())
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
        let sql = |fault: rusqlite::Error| refusal(&self.conn, &self.path, &fault);
        // Names are made of characters below '~', so this range holds exactly the names with that prefix.
        let mut select = self
            .conn
            .prepare_cached(
                "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || '~' AND NOT ( \
                     instr(substr(run_id, length(?1) + 1), '.') > 0 AND EXISTS(SELECT 1 FROM runs AS above WHERE \
                     above.run_id = substr(runs.run_id, 1, length(?1) + instr(substr(runs.run_id, length(?1) + 1), '.') - 1)) \
                 ) ORDER BY run_id LIMIT ?2",
            )
            .map_err(sql)?;
        let most = i64::try_from(CANDIDATES).unwrap_or(i64::MAX);
        let mut rows = select.query(params![asked, most]).map_err(sql)?;
        let mut candidates = Vec::new();
        while let Some(row) = rows.next().map_err(sql)? {
            let of = format!("a name that begins with {asked:?}");
            let columns = Columns {
                path: &self.path,
                row,
                table: "runs",
                of: &of,
            };
            let name = RunId::try_from(columns.text(0, "run_id")?);
            candidates
                .push(name.map_err(|fault| columns.refuse("run_id", "the name of a run", fault))?);
        }
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
        blob(&self.conn, &self.path, hash)
    }

    /// Opens a run as it stands now.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] where there is none of that name.
    pub fn read_run(&mut self, run_id: &RunId) -> Result<RunReader<'_>, StoreError> {
        RunReader::open(&mut self.conn, &self.path, run_id)
    }
}
