use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::{DamagedRow, RunFilter, RunRow, StoreError, schema};
use crate::contract::ExecutionContract;
use crate::kernel::State;
use crate::message::{Digest, RunId};
use crate::transcript::SealedEntry;

/// How many entries are held at a time while a run is read.
const PAGE: i64 = 32;
/// How many candidates an ambiguous prefix names.
const CANDIDATES: usize = 10;
/// How long a lock is waited for; readers meet one only while the file is made or closed.
const BUSY: Duration = Duration::from_secs(5);

const ROW: &str = "SELECT run_id, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, class, code, id \
                   FROM runs";

/// Reads a store on a connection of its own that cannot write.
#[derive(Debug)]
pub struct StoreReader {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
}

/// One run as it stood when it was opened, whatever is appended meanwhile. Iterates its entries in order.
#[derive(Debug)]
pub struct RunReader<'r> {
    contract: String,
    failed: bool,
    key: i64,
    next: i64,
    page: VecDeque<SealedEntry>,
    path: &'r Path,
    row: RunRow,
    tx: Transaction<'r>,
}

impl StoreReader {
    /// Opens an existing store.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            conn: schema::open_reader(path, BUSY)?,
            path: path.to_path_buf(),
        })
    }

    /// The newest runs first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where one of the rows cannot be read.
    pub fn list_runs(&self, limit: usize, filter: RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let rows = self.list_rows(limit, filter)?.into_iter();
        rows.map(|row| row.map_err(|damaged| damaged.fault))
            .collect()
    }

    /// The newest runs first, at most `limit`, and among them what cannot be read as one.
    pub fn list_rows(
        &self,
        limit: usize,
        filter: RunFilter,
    ) -> Result<Vec<Result<RunRow, DamagedRow>>, StoreError> {
        let (open, sealed, class) = match filter {
            RunFilter::All => (true, true, None),
            RunFilter::Open => (true, false, None),
            RunFilter::Sealed => (false, true, None),
            RunFilter::Class(class) => (false, true, Some(class.as_str())),
        };
        let sql = |fault: rusqlite::Error| StoreError::from_sql(&self.path, &fault);
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "{ROW} WHERE CASE WHEN class IS NULL THEN ?1 ELSE ?2 AND (?3 IS NULL OR class = ?3) END \
                 ORDER BY created_unix_ms DESC, id DESC LIMIT ?4"
            ))
            .map_err(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = select
            .query(params![open, sealed, class, limit])
            .map_err(sql)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(sql)? {
            found.push(run_row(row, &self.path).map_err(|fault| damaged(row, fault)));
        }
        Ok(found)
    }

    /// The run of that name, or of that unique prefix; `last` is the newest.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Ambiguous`].
    pub fn resolve(&self, asked: &str) -> Result<RunId, StoreError> {
        let none = || StoreError::NoSuchRun {
            asked: asked.chars().take(80).collect(),
        };
        if asked == "last" {
            let newest = self.list_runs(1, RunFilter::All)?;
            return newest.into_iter().next().map(|r| r.run_id).ok_or_else(none);
        }
        let sql = |fault: rusqlite::Error| StoreError::from_sql(&self.path, &fault);
        // Names are made of characters below '~', so this range holds exactly the names with that prefix.
        let mut select = self
            .conn
            .prepare_cached(
                "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || '~' ORDER BY run_id LIMIT ?2",
            )
            .map_err(sql)?;
        let most = i64::try_from(CANDIDATES).unwrap_or(i64::MAX);
        let names: Vec<String> = select
            .query_map(params![asked, most], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(sql)?;
        let mut candidates = Vec::new();
        for name in names {
            let column = |fault| corrupt(&self.path, "runs.run_id", &fault);
            candidates.push(RunId::try_from(name).map_err(column)?);
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

    /// The bytes under that hash, as they are stored.
    pub fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        blob(&self.conn, hash).map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }

    /// Opens a run as it stands now.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] where there is none of that name.
    pub fn read_run(&mut self, run_id: &RunId) -> Result<RunReader<'_>, StoreError> {
        let Self { conn, path } = self;
        let path = path.as_path();
        let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
        let tx = conn.transaction().map_err(sql)?;
        let name = run_id.as_str();
        let (key, contract) = tx
            .query_row(
                "SELECT id, contract FROM runs WHERE run_id = ?1",
                [name],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(sql)?
            .ok_or_else(|| StoreError::NoSuchRun {
                asked: name.to_owned(),
            })?;
        let row = {
            let mut select = tx.prepare(&format!("{ROW} WHERE id = ?1")).map_err(sql)?;
            let mut rows = select.query([key]).map_err(sql)?;
            let row = rows.next().map_err(sql)?;
            let row = row.ok_or_else(|| StoreError::NoSuchRun {
                asked: name.to_owned(),
            })?;
            run_row(row, path)?
        };
        Ok(RunReader {
            contract,
            failed: false,
            key,
            next: 0,
            page: VecDeque::new(),
            path,
            row,
            tx,
        })
    }
}

impl RunReader<'_> {
    /// What the index says of the run.
    #[must_use]
    pub const fn row(&self) -> &RunRow {
        &self.row
    }

    /// The same run, iterated from that entry on.
    #[must_use]
    pub fn from_entry(mut self, seq: u64) -> Self {
        self.page.clear();
        self.next = i64::try_from(seq).unwrap_or(i64::MAX);
        self
    }

    /// The document of the contract as stored.
    #[must_use]
    pub fn contract_text(&self) -> &str {
        &self.contract
    }

    /// The contract, read from its document. The hash in it is taken as it stands.
    pub fn contract(&self) -> Result<ExecutionContract, StoreError> {
        ExecutionContract::decode(&self.contract)
            .map_err(|fault| corrupt(self.path, "runs.contract", &fault))
    }

    /// The bytes under that hash, as they are stored.
    pub fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        blob(&self.tx, hash).map_err(|fault| StoreError::from_sql(self.path, &fault))
    }

    /// The hashes of the run's blobs, sorted.
    pub fn blob_hashes(&self) -> Result<Vec<Digest>, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(self.path, &fault);
        let mut select = self
            .tx
            .prepare_cached("SELECT hash FROM run_blobs WHERE run = ?1 ORDER BY hash")
            .map_err(sql)?;
        let mut rows = select.query([self.key]).map_err(sql)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(sql)? {
            found.push(digest(row, 0, self.path, "run_blobs.hash")?);
        }
        Ok(found)
    }

    /// The notes of the run's checkpoints, in the order of their numbers of entries.
    pub fn checkpoints(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            if !schema::has_log(&self.tx)? {
                return Ok(Vec::new());
            }
            self.tx
                .prepare_cached("SELECT note FROM checkpoints WHERE run = ?1 ORDER BY entries")?
                .query_map([self.key], |row| row.get(0))?
                .collect()
        };
        read().map_err(|fault| StoreError::from_sql(self.path, &fault))
    }

    /// The notes of the run's tombstones, in the order of the hashes.
    pub fn tombstones(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            if !schema::has_tombstones(&self.tx)? {
                return Ok(Vec::new());
            }
            self.tx
                .prepare_cached("SELECT note FROM tombstones WHERE run = ?1 ORDER BY hash")?
                .query_map([self.key], |row| row.get(0))?
                .collect()
        };
        read().map_err(|fault| StoreError::from_sql(self.path, &fault))
    }

    fn fill(&mut self) -> Result<(), StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(self.path, &fault);
        let mut select = self
            .tx
            .prepare_cached(
                "SELECT seq, state, event, action, hash FROM entries \
                 WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
            )
            .map_err(sql)?;
        let mut rows = select
            .query(params![self.key, self.next, PAGE])
            .map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let entry = sealed_entry(row, self.path)?;
            self.next = row.get::<_, i64>(0).map_err(sql)?.saturating_add(1);
            self.page.push_back(entry);
        }
        Ok(())
    }
}

impl Iterator for RunReader<'_> {
    type Item = Result<SealedEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if self.page.is_empty()
            && let Err(fault) = self.fill()
        {
            self.failed = true;
            return Some(Err(fault));
        }
        self.page.pop_front().map(Ok)
    }
}

fn blob(conn: &Connection, hash: Digest) -> rusqlite::Result<Option<Vec<u8>>> {
    conn.prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?
        .query_row([hash.as_bytes()], |row| row.get(0))
        .optional()
}

fn run_row(row: &Row<'_>, path: &Path) -> Result<RunRow, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let outcome = match (row.get(7).map_err(sql)?, row.get(8).map_err(sql)?) {
        (Some(class), Some(code)) => Some((class, code)),
        (None::<String>, None::<String>) => None,
        _ => {
            return Err(corrupt(
                path,
                "runs.code",
                &"class and code belong together",
            ));
        }
    };
    let count = |column, add: i64, name| {
        let number: i64 = row.get(column).map_err(sql)?;
        u64::try_from(number.saturating_add(add)).map_err(|_| corrupt(path, name, &number))
    };
    let run_id: String = row.get(0).map_err(sql)?;
    Ok(RunRow {
        run_id: RunId::try_from(run_id).map_err(|fault| corrupt(path, "runs.run_id", &fault))?,
        contract_hash: digest(row, 1, path, "runs.contract_hash")?,
        created_unix_ms: count(2, 0, "runs.created_unix_ms")?,
        epoch: row.get(3).map_err(sql)?,
        owner: row.get(4).map_err(sql)?,
        length: count(5, 1, "runs.head_seq")?,
        head: digest(row, 6, path, "runs.head_hash")?,
        outcome,
    })
}

fn damaged(row: &Row<'_>, fault: StoreError) -> DamagedRow {
    let name = row.get::<_, String>(0);
    let number = || row.get::<_, i64>(9).unwrap_or_default();
    let run = name.unwrap_or_else(|_| format!("in row {}", number()));
    DamagedRow { run, fault }
}

fn sealed_entry(row: &Row<'_>, path: &Path) -> Result<SealedEntry, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let seq: i64 = row.get(0).map_err(sql)?;
    let name: String = row.get(1).map_err(sql)?;
    let state = State::ALL.into_iter().find(|s| s.as_str() == name);
    Ok(SealedEntry {
        seq: u64::try_from(seq).map_err(|_| corrupt(path, "entries.seq", &seq))?,
        state: state.ok_or_else(|| corrupt(path, "entries.state", &name))?,
        event: row.get(2).map_err(sql)?,
        action: row.get(3).map_err(sql)?,
        hash: digest(row, 4, path, "entries.hash")?,
    })
}

fn digest(row: &Row<'_>, column: usize, path: &Path, name: &str) -> Result<Digest, StoreError> {
    let bytes: Vec<u8> = row
        .get(column)
        .map_err(|fault| StoreError::from_sql(path, &fault))?;
    let length = bytes.len();
    let bytes = <[u8; 32]>::try_from(bytes);
    bytes
        .map(Digest::from_bytes)
        .map_err(|_| corrupt(path, name, &format_args!("a hash of {length} bytes")))
}

fn corrupt(path: &Path, column: &str, what: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt {
        path: path.to_path_buf(),
        reason: format!("{column}: {what}"),
    }
}
