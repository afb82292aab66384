//! The tables of a store, and what is said where one of them is missing.

use std::path::Path;

use monolith_core::message::escaped_line;
use monolith_core::transcript::{Flaw, FlawKind, is_log_name};
use rusqlite::{Connection, OptionalExtension as _};

use super::formats::{OLDEST_STORE_FORMAT, STORE_FORMAT};
use crate::store::StoreError;

/// `mono` in ASCII: distinguishes a store from other programs' databases.
pub(crate) const APPLICATION_ID: i32 = 0x6d6f_6e6f;

/// `kind` is `run` or `workflow`; the contract of a workflow is its definition. `head_seq` is -1 before entry 0. `class` and
/// `code` are null until the seal. Outside the hash: `created_unix_ms`, `epoch`, `owner`, and the table `invocations`. The leaf
/// of a deleted run names no run; a row of `deletions` names the leaf. A link of `run_blobs` goes when its blob is erased, and
/// the tombstone replaces it. `event` and `action` are texts or packed texts, as in `entry_text`. Each append rewrites the row
/// of its run, so the contract has a separate table. Rows of `entries` come in the order of their commits, so that those of
/// many runs share pages.
pub(super) const SCHEMA: &str = "
CREATE TABLE runs(
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL DEFAULT 'run',
    contract_hash BLOB NOT NULL,
    created_unix_ms INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    owner TEXT NOT NULL,
    head_seq INTEGER NOT NULL,
    head_hash BLOB NOT NULL,
    class TEXT,
    code TEXT
) STRICT;
CREATE INDEX runs_by_time ON runs(created_unix_ms, id);
CREATE TABLE contracts(
    run INTEGER PRIMARY KEY REFERENCES runs(id),
    document TEXT NOT NULL
) STRICT;
CREATE TABLE entries(
    run INTEGER NOT NULL REFERENCES runs(id),
    seq INTEGER NOT NULL,
    state TEXT NOT NULL,
    event ANY NOT NULL,
    action ANY NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE(run, seq)
) STRICT;
CREATE TABLE blobs(
    hash BLOB NOT NULL PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;
CREATE TABLE run_blobs(
    run INTEGER NOT NULL REFERENCES runs(id),
    hash BLOB NOT NULL REFERENCES blobs(hash),
    PRIMARY KEY(run, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoints(
    run INTEGER NOT NULL REFERENCES runs(id),
    entries INTEGER NOT NULL,
    note TEXT NOT NULL,
    UNIQUE(run, entries)
) STRICT;
CREATE TABLE log_leaves(
    idx INTEGER PRIMARY KEY,
    run INTEGER UNIQUE REFERENCES runs(id),
    leaf TEXT NOT NULL
) STRICT;
CREATE TABLE deletions(
    run_id TEXT NOT NULL,
    leaf INTEGER UNIQUE REFERENCES log_leaves(idx),
    note TEXT NOT NULL
) STRICT;
CREATE TABLE log_name(
    only INTEGER PRIMARY KEY CHECK(only = 1),
    name TEXT NOT NULL
) STRICT;
CREATE TABLE invocations(
    run INTEGER PRIMARY KEY REFERENCES runs(id),
    base_dir TEXT NOT NULL,
    contract_file TEXT NOT NULL,
    config TEXT,
    sets TEXT NOT NULL,
    files TEXT
) STRICT;
CREATE TABLE tombstones(
    run INTEGER NOT NULL REFERENCES runs(id),
    hash BLOB NOT NULL,
    note TEXT NOT NULL,
    UNIQUE(run, hash)
) STRICT;
";

/// Finds the runs that use a blob. It changes nothing that is stored, so a store that was made without it gets it with its first deletion.
pub(super) const BLOB_INDEX: &str =
    "CREATE INDEX IF NOT EXISTS run_blobs_by_hash ON run_blobs(hash)";

/// The tables of [`SCHEMA`].
const TABLES: [&str; 11] = [
    "runs",
    "contracts",
    "entries",
    "blobs",
    "run_blobs",
    "checkpoints",
    "log_leaves",
    "log_name",
    "invocations",
    "deletions",
    "tombstones",
];

/// The first table that every store has and this one does not.
pub(super) fn missing_table(conn: &Connection) -> rusqlite::Result<Option<&'static str>> {
    let mut select =
        conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    for table in TABLES {
        if !select.exists([table])? {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// Returns the reason why a table cannot be read: a missing table, or SQLite's error.
pub(super) fn refusal(conn: &Connection, path: &Path, fault: &rusqlite::Error) -> StoreError {
    match missing_table(conn) {
        Ok(Some(table)) => StoreError::Lacking {
            path: path.to_path_buf(),
            what: format!("the table {table}"),
        },
        Ok(None) | Err(_) => StoreError::from_sql(path, fault),
    }
}

/// Refuses to write a store that lost a part of its tables: what is missing would be found only once tools have run.
pub(super) fn judge_whole(
    conn: &Connection,
    found: Option<i32>,
    path: &Path,
) -> Result<(), StoreError> {
    if found.is_none() {
        return Ok(());
    }
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    if let Some(what) = lacking(conn).map_err(sql)? {
        let path = path.to_path_buf();
        return Err(StoreError::Lacking { path, what });
    }
    let Err(flaw) = name(conn).map_err(sql)? else {
        return Ok(());
    };
    Err(StoreError::Corrupt {
        path: path.to_path_buf(),
        reason: format!(
            "a store of format {STORE_FORMAT} has {} in table log_name, and this one does not",
            flaw.expected
        ),
    })
}

/// The table, the column or its type that a store of this format must have and does not, in words.
fn lacking(conn: &Connection) -> rusqlite::Result<Option<String>> {
    if let Some(table) = missing_table(conn)? {
        return Ok(Some(format!("the table {table}")));
    }
    let columns = |conn: &Connection| -> rusqlite::Result<Vec<String>> {
        conn.prepare(
            "SELECT 'column ' || p.name || ' of table ' || m.name FROM sqlite_schema m, pragma_table_info(m.name) p \
             WHERE m.type = 'table' UNION ALL \
             SELECT 'type ' || p.type || ' of column ' || p.name || ' of table ' || m.name \
             FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table' ORDER BY 1",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
    };
    let whole = Connection::open_in_memory()?;
    whole.execute_batch(SCHEMA)?;
    let here = columns(conn)?;
    let mut expected = columns(&whole)?.into_iter();
    if let Some(column) = expected.find(|column| !here.contains(column)) {
        return Ok(Some(format!("the {column}")));
    }
    Ok(None)
}

/// The format of a store; `None` if the database is empty.
///
/// # Errors
/// [`StoreError`] where it is another program's, or of a format that this build does not read.
pub(super) fn format_of(conn: &Connection, path: &Path) -> Result<Option<i32>, StoreError> {
    // One statement sees one moment: a process that makes the store between two would make it look like another program's.
    let (application, version, tables) = conn
        .query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| {
                Ok((
                    row.get::<_, i32>(0)?,
                    row.get::<_, i32>(1)?,
                    row.get::<_, i64>(2)?,
                ))
            },
        )
        .map_err(|fault| StoreError::from_sql(path, &fault))?;
    if (application, version, tables) == (0, 0, 0) {
        return Ok(None);
    }
    if application != APPLICATION_ID {
        return Err(StoreError::Foreign {
            path: path.to_path_buf(),
            found: application,
        });
    }
    if version > STORE_FORMAT {
        return Err(StoreError::NewerFormat {
            path: path.to_path_buf(),
            found: version,
            supported: STORE_FORMAT,
        });
    }
    if version < OLDEST_STORE_FORMAT {
        return Err(StoreError::UnknownFormat {
            path: path.to_path_buf(),
            found: version,
        });
    }
    match computed(conn).map_err(|fault| StoreError::from_sql(path, &fault))? {
        None => Ok(Some(version)),
        Some(table) => Err(StoreError::Corrupt {
            path: path.to_path_buf(),
            reason: format!("table {} is computed, and not kept", escaped_line(&table)),
        }),
    }
}

/// A table of which not every value stands in the file: a small file could give values of any size.
fn computed(conn: &Connection) -> rusqlite::Result<Option<String>> {
    conn.query_row(
        "SELECT CAST(m.name AS TEXT) FROM sqlite_schema m WHERE m.type = 'table' AND \
         CASE WHEN m.rootpage = 0 THEN 1 ELSE EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden IN (2, 3)) END LIMIT 1",
        [],
        |row| row.get(0),
    )
    .optional()
}

/// The rule for the name of a log.
const LOG_NAME_RULE: &str = "the name of the log (16 digits of lower-case hex)";

/// Names a log of runs that has none: at random, so that no two logs are taken for one another.
pub(super) const NAME_LOG: &str =
    "INSERT OR IGNORE INTO log_name(only, name) VALUES(1, lower(hex(randomblob(8))))";

/// The name of the log, or what is wrong with it.
pub(super) fn name(conn: &Connection) -> rusqlite::Result<Result<String, Flaw>> {
    let name = conn
        .query_row("SELECT CAST(name AS BLOB) FROM log_name", [], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(name) = name else {
        let kind = FlawKind::Truncated;
        return Ok(Err(Flaw::new(kind, "name", LOG_NAME_RULE, "no row")));
    };
    let name: Vec<u8> = name;
    let name = String::from_utf8_lossy(&name).into_owned();
    Ok(if is_log_name(&name) {
        Ok(name)
    } else {
        Err(Flaw::tampered(
            "name",
            LOG_NAME_RULE,
            format_args!("{name:?}"),
        ))
    })
}
