use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::column::Columns;
use super::open_reader::open_reader;
use super::{DamagedRow, RunFilter, RunReader, RunRow, StoreError, schema};
use crate::message::{Digest, MAX_EXACT, RunId};

/// How many candidates an ambiguous prefix names.
const CANDIDATES: usize = 10;
/// How long a lock is waited for; readers meet one only while the file is made or closed.
const BUSY: Duration = Duration::from_secs(5);

/// The columns that [`run_row`] reads.
pub(super) const ROW: &str = "SELECT run_id, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, class, code, id \
                   FROM runs";

/// Reads a store on a connection of its own that cannot write.
#[derive(Debug)]
pub struct StoreReader {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
}

impl StoreReader {
    /// Opens an existing store.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            conn: open_reader(path, BUSY)?,
            path: path.to_path_buf(),
        })
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

    /// Hands on the rows of runs, the newest first, until `take` says no.
    fn each_row(
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
        let sql = |fault: rusqlite::Error| self.refusal(&fault);
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

    /// Why the index cannot be asked: a part of it is gone, or what SQLite says.
    fn refusal(&self, fault: &rusqlite::Error) -> StoreError {
        match schema::missing_table(&self.conn) {
            Ok(Some(table)) => StoreError::Corrupt {
                path: self.path.clone(),
                reason: format!("it lacks the table {table}, which every store of its format has"),
            },
            Ok(None) | Err(_) => StoreError::from_sql(&self.path, fault),
        }
    }

    /// The run of that name, or of that unique prefix; `last` is the newest.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Ambiguous`]; [`StoreError::Corrupt`] where the newest row does not read.
    pub fn resolve(&self, asked: &str) -> Result<RunId, StoreError> {
        let none = || StoreError::NoSuchRun {
            asked: asked.chars().take(80).collect(),
        };
        if asked == "last" {
            // No other run stands in for it: whoever asks for the newest must learn that its row was damaged.
            let newest = self.list_rows(1, RunFilter::All)?.into_iter().next();
            let newest = newest.ok_or_else(none)?;
            return newest.map(|row| row.run_id).map_err(|row| row.fault);
        }
        let sql = |fault: rusqlite::Error| self.refusal(&fault);
        // Names are made of characters below '~', so this range holds exactly the names with that prefix.
        let mut select = self
            .conn
            .prepare_cached(
                "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || '~' ORDER BY run_id LIMIT ?2",
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

/// The bytes under that hash.
pub(super) fn blob(
    conn: &Connection,
    path: &Path,
    hash: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut select = conn
        .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")
        .map_err(sql)?;
    let mut rows = select.query([hash.as_bytes()]).map_err(sql)?;
    let Some(row) = rows.next().map_err(sql)? else {
        return Ok(None);
    };
    let columns = Columns {
        path,
        row,
        table: "blobs",
        of: &format!("blob {hash}"),
    };
    columns.bytes(0, "bytes").map(Some)
}

/// The row that a [`ROW`] query stands at.
pub(super) fn run_row(row: &Row<'_>, path: &Path) -> Result<RunRow, StoreError> {
    let of = match (row.get_ref(0), row.get_ref(9)) {
        (Ok(ValueRef::Text(name)), _) => format!("run {:?}", String::from_utf8_lossy(name)),
        (_, Ok(ValueRef::Integer(key))) => format!("id {key}"),
        _ => "a row without a name".to_owned(),
    };
    let columns = Columns {
        path,
        row,
        table: "runs",
        of: &of,
    };
    let outcome = match (
        columns.text_or_null(7, "class")?,
        columns.text_or_null(8, "code")?,
    ) {
        (Some(class), Some(code)) => Some((class, code)),
        (None, None) => None,
        (Some(_), None) => return Err(columns.refuse("code", "a code beside the class", "null")),
        (None, Some(_)) => return Err(columns.refuse("class", "a class beside the code", "null")),
    };
    let created_unix_ms = columns.count(2, "created_unix_ms")?;
    if created_unix_ms > MAX_EXACT {
        let expected = format_args!("at most {MAX_EXACT}");
        return Err(columns.refuse("created_unix_ms", expected, created_unix_ms));
    }
    let head_seq = columns.integer(5, "head_seq")?;
    let length = u64::try_from(head_seq.saturating_add(1));
    let run_id = RunId::try_from(columns.text(0, "run_id")?);
    Ok(RunRow {
        run_id: run_id.map_err(|fault| columns.refuse("run_id", "the name of a run", fault))?,
        contract_hash: columns.digest(1, "contract_hash")?,
        created_unix_ms,
        epoch: columns.integer(3, "epoch")?,
        owner: columns.text(4, "owner")?,
        length: length.map_err(|_| columns.refuse("head_seq", "-1 or more", head_seq))?,
        head: columns.digest(6, "head_hash")?,
        outcome,
    })
}

fn damaged(row: &Row<'_>, fault: StoreError) -> DamagedRow {
    let name = row.get::<_, String>(0);
    let number = || row.get::<_, i64>(9).unwrap_or_default();
    let run = name.unwrap_or_else(|_| format!("in row {}", number()));
    DamagedRow { run, fault }
}
