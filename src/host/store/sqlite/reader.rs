//! The connection that reads: which runs there are. The content of a run is `run_rows.rs`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use rusqlite::{Connection, params};

use super::answer_files;
use super::append::blob;
use super::column::Columns;
use super::lock::driver_of;
use super::open_reader::{BUSY, open_reader};
use super::run_rows::{ROW, SqliteRun, damaged, run_row};
use super::schema::refusal;
use super::store_file::StoreFile;
use crate::store::answer::Answer;
use crate::store::database::{DatabaseReader, RunDriver, RunRows, Standing};
use crate::store::{
    DamagedRow, Elsewhere, Invocation, LogReport, RunFilter, RunLog, RunRow, StoreError,
};
use monolith_core::kernel::ParentRun;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{LogDeletions, ParentFound, PublicKey, Trust, VerifyReport};

/// A store in a SQLite file, read on a separate connection that cannot write.
#[derive(Debug)]
pub(in crate::store) struct SqliteReader {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
}

impl SqliteReader {
    /// Opens an existing store.
    pub(in crate::store) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = StoreFile::of(path)?;
        Ok(Self {
            conn: open_reader(&file, BUSY)?,
            path: file.path().to_path_buf(),
        })
    }

    /// Reads the row that a table has for a run; `None` if it has none.
    pub(super) fn row_of<T>(
        &self,
        run_id: &RunId,
        table: &'static str,
        names: &str,
        read: impl FnOnce(&Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let sql = |fault: rusqlite::Error| refusal(&self.conn, &self.path, &fault);
        let select = format!(
            "SELECT {names} FROM {table} WHERE run = (SELECT id FROM runs WHERE run_id = ?1)"
        );
        let mut select = self.conn.prepare_cached(&select).map_err(sql)?;
        let mut rows = select.query([run_id.as_str()]).map_err(sql)?;
        let Some(row) = rows.next().map_err(sql)? else {
            return Ok(None);
        };
        let columns = Columns {
            path: &self.path,
            row,
            table,
            of: &format!("run {run_id}"),
        };
        read(&columns).map(Some)
    }
}

impl DatabaseReader for SqliteReader {
    fn path(&self) -> &Path {
        &self.path
    }

    fn again(&self) -> Result<Box<dyn DatabaseReader>, StoreError> {
        Ok(Box::new(Self::open(&self.path)?))
    }

    fn each_row(
        &self,
        filter: RunFilter,
        take: &mut dyn FnMut(Result<RunRow, DamagedRow>) -> bool,
    ) -> Result<(), StoreError> {
        let (open, sealed, class, kind) = match filter {
            RunFilter::All => (true, true, None, None),
            RunFilter::Open => (true, false, None, None),
            RunFilter::Sealed => (false, true, None, None),
            RunFilter::Class(class) => (false, true, Some(class.as_str()), None),
            RunFilter::Kind(kind) => (true, true, None, Some(kind.as_str())),
        };
        let sql = |fault: rusqlite::Error| refusal(&self.conn, &self.path, &fault);
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "{ROW} WHERE CASE WHEN class IS NULL THEN ?1 ELSE ?2 AND (?3 IS NULL OR class = ?3) END \
                 AND (?4 IS NULL OR kind = ?4) \
                 ORDER BY created_unix_ms DESC, id DESC"
            ))
            .map_err(sql)?;
        let mut rows = select
            .query(params![open, sealed, class, kind])
            .map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            if !take(run_row(row, &self.path).map_err(|fault| damaged(row, fault))) {
                break;
            }
        }
        Ok(())
    }

    fn names_from(&self, prefix: &str, most: usize) -> Result<Vec<RunId>, StoreError> {
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
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = select.query(params![prefix, most]).map_err(sql)?;
        let mut candidates = Vec::new();
        while let Some(row) = rows.next().map_err(sql)? {
            let of = format!("a name that begins with {prefix:?}");
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
        Ok(candidates)
    }

    fn names_below(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        // '/' comes next to '.', so this range holds exactly the names that begin so.
        let mut select = self
            .conn
            .prepare_cached(
                "SELECT run_id FROM runs WHERE run_id > ?1 || '.' AND run_id < ?1 || '/' ORDER BY id",
            )
            .map_err(|fault| StoreError::from_sql(&self.path, &fault))?;
        select
            .query_map([prefix], |row| row.get::<_, String>(0))
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }

    fn standing(&self, run_id: &RunId) -> Result<Option<Standing>, StoreError> {
        self.standing(run_id)
    }

    fn read_run<'r>(&'r mut self, run_id: &RunId) -> Result<Box<dyn RunRows + 'r>, StoreError> {
        let run = SqliteRun::open(&mut self.conn, &self.path, run_id)?;
        Ok(Box::new(run))
    }

    fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        blob(&self.conn, &self.path, hash)
    }

    fn first_entry(&self, run_id: &RunId) -> Result<Option<Digest>, StoreError> {
        self.first_entry(run_id)
    }

    fn parent(&self, run_id: &RunId) -> Result<Option<ParentRun>, StoreError> {
        self.parent(run_id)
    }

    fn find_entry(&self, run_id: &RunId, hash: Digest) -> Result<ParentFound, StoreError> {
        self.find_entry(run_id, hash)
    }

    fn invocation(&self, run_id: &RunId) -> Result<Option<Invocation>, StoreError> {
        self.invocation(run_id)
    }

    fn driver_of(&self, run_id: &RunId) -> Result<Option<RunDriver>, StoreError> {
        driver_of(&self.path, run_id)
    }

    fn left_answer(&self, run_id: &RunId) -> Result<Option<Answer>, StoreError> {
        answer_files::left(&self.path, run_id)
    }

    fn leave_answer(
        &self,
        run_id: &RunId,
        answer: &Answer,
        found: (Option<&Answer>, u64),
    ) -> Result<bool, StoreError> {
        self.leave_answer(run_id, answer, found)
    }

    fn run_log(&self) -> Result<RunLog, StoreError> {
        self.run_log()
    }

    fn last_receipt(&self) -> Result<Option<(Digest, u64)>, StoreError> {
        self.last_receipt()
    }

    fn log_leaf(&self, run_id: &RunId) -> Result<Option<(u64, String)>, StoreError> {
        self.log_leaf(run_id)
    }

    fn deleted(
        &self,
        name: &str,
        keys: &[PublicKey],
    ) -> Result<Option<(String, String)>, StoreError> {
        self.deleted(name, keys)
    }

    fn deleted_below(&self, run_id: &RunId, above: &RunId) -> Result<Option<String>, StoreError> {
        self.deleted_below(run_id, above)
    }

    fn deleted_leaf(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        self.deleted_leaf(name)
    }

    fn log_deletions(&self, size: u64, first: Option<u64>) -> Result<LogDeletions, StoreError> {
        self.log_deletions(size, first)
    }

    fn holding(&self, texts: &AhoCorasick, except: Digest) -> Result<Vec<Elsewhere>, StoreError> {
        self.holding(texts, except)
    }

    fn verify_run(
        &self,
        run_id: &RunId,
        open: bool,
        trust: &Arc<Trust>,
    ) -> Result<Option<VerifyReport>, StoreError> {
        self.verify_run(run_id, open, trust)
    }

    fn verify_log(&self, trust: &Trust) -> Result<LogReport, StoreError> {
        self.verify_log(trust)
    }
}
