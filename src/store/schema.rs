use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{StoreError, run_log};

/// `mono` in ASCII: what tells a store from other programs' databases.
pub(crate) const APPLICATION_ID: i32 = 0x6d6f_6e6f;
/// The format of the tables below, kept as the database's `user_version`.
pub(crate) const STORE_FORMAT: i32 = 2;
/// The oldest format that is read. A store of an older format than [`STORE_FORMAT`] is written only by its migration.
pub(crate) const OLDEST_STORE_FORMAT: i32 = 1;

/// How sure an acknowledged append is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives the loss of power.
    #[default]
    Full,
    /// It survives the death of the process, not the loss of power.
    Normal,
}

/// `head_seq` is -1 before entry 0. `class` and `code` are null until the seal. Outside the hash: `created_unix_ms`, `epoch`, `owner`,
/// and the table `invocations`. A link of `run_blobs` goes when its blob is erased, and the tombstone takes its place.
pub(super) const SCHEMA: &str = "
CREATE TABLE runs(
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    contract TEXT NOT NULL,
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
CREATE TABLE entries(
    run INTEGER NOT NULL REFERENCES runs(id),
    seq INTEGER NOT NULL,
    state TEXT NOT NULL,
    event TEXT NOT NULL,
    action TEXT NOT NULL,
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
    UNIQUE(run, hash)
) STRICT;
CREATE TABLE checkpoints(
    run INTEGER NOT NULL REFERENCES runs(id),
    entries INTEGER NOT NULL,
    note TEXT NOT NULL,
    UNIQUE(run, entries)
) STRICT;
CREATE TABLE log_leaves(
    idx INTEGER PRIMARY KEY,
    run INTEGER NOT NULL UNIQUE REFERENCES runs(id),
    leaf TEXT NOT NULL
) STRICT;
CREATE TABLE log_name(
    only INTEGER PRIMARY KEY CHECK(only = 1),
    name TEXT NOT NULL
) STRICT;
CREATE TABLE invocations(
    run INTEGER PRIMARY KEY REFERENCES runs(id),
    base_dir TEXT NOT NULL,
    contract_file TEXT NOT NULL,
    sets TEXT NOT NULL
) STRICT;
CREATE TABLE tombstones(
    run INTEGER NOT NULL REFERENCES runs(id),
    hash BLOB NOT NULL,
    note TEXT NOT NULL,
    UNIQUE(run, hash)
) STRICT;
";

/// Names a log of runs that has none: at random, so that no two logs are taken for one another.
pub(super) const NAME_LOG: &str =
    "INSERT OR IGNORE INTO log_name(only, name) VALUES(1, lower(hex(randomblob(8))))";

/// Whether the store has all of these tables. One of format 1 may lack those that came after its first build.
fn has_tables(conn: &Connection, names: &[&str]) -> rusqlite::Result<bool> {
    let mut select = conn
        .prepare_cached("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    for name in names {
        if select.query_row([name], |row| row.get::<_, i64>(0))? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tables of [`SCHEMA`].
const TABLES: [&str; 9] = [
    "runs",
    "entries",
    "blobs",
    "run_blobs",
    "checkpoints",
    "log_leaves",
    "log_name",
    "invocations",
    "tombstones",
];

/// The first table that a store of this format must have and does not. One of format 1 may lack some.
pub(super) fn missing_table(conn: &Connection) -> rusqlite::Result<Option<&'static str>> {
    if conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i32>(0))? < STORE_FORMAT {
        return Ok(None);
    }
    for table in TABLES {
        if !has_tables(conn, &[table])? {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// What a store of this format must have and does not, in words.
fn lacking(conn: &Connection) -> rusqlite::Result<Option<String>> {
    if let Some(table) = missing_table(conn)? {
        return Ok(Some(format!("the table {table}")));
    }
    let columns = |conn: &Connection| -> rusqlite::Result<Vec<String>> {
        conn.prepare(
            "SELECT p.name || ' of table ' || m.name FROM sqlite_schema m, pragma_table_info(m.name) p \
             WHERE m.type = 'table' ORDER BY 1",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
    };
    let whole = Connection::open_in_memory()?;
    whole.execute_batch(SCHEMA)?;
    let here = columns(conn)?;
    let mut expected = columns(&whole)?.into_iter();
    if let Some(column) = expected.find(|column| !here.contains(column)) {
        return Ok(Some(format!("the column {column}")));
    }
    let name = run_log::name(conn)?;
    Ok(name
        .err()
        .map(|flaw| format!("{} in table log_name", flaw.expected)))
}

/// Whether the store keeps a log of runs.
pub(super) fn has_log(conn: &Connection) -> rusqlite::Result<bool> {
    has_tables(conn, &["log_name", "log_leaves", "checkpoints"])
}

/// Whether the store can keep tombstones.
pub(super) fn has_tombstones(conn: &Connection) -> rusqlite::Result<bool> {
    has_tables(conn, &["tombstones"])
}

/// Whether the store says how runs were asked for.
pub(super) fn has_invocations(conn: &Connection) -> rusqlite::Result<bool> {
    has_tables(conn, &["invocations"])
}

/// Runs nothing that a file brings with it: a trigger could drop what is written, a view in the place of a table never end.
pub(super) fn distrust(conn: &Connection) -> rusqlite::Result<()> {
    for code in [
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    ] {
        conn.set_db_config(code, false)?;
    }
    Ok(())
}

/// Opens the one connection that writes, and makes the tables where the file is new.
pub(super) fn open_writer(
    path: &Path,
    durability: Durability,
    busy: Duration,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = Connection::open_with_flags(path, flags).map_err(sql)?;
    distrust(&conn).map_err(sql)?;
    conn.busy_timeout(busy).map_err(sql)?;
    let found = format_of(&conn, path)?;
    // SQLite falls back to reading where the file may not be written.
    if conn.is_readonly("main").map_err(sql)? {
        return Err(StoreError::ReadOnly {
            path: path.to_path_buf(),
        });
    }
    judge_writable(found, path)?;
    judge_whole(&conn, found, path)?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    conn.pragma_update(None, "journal_mode", "WAL")
        .map_err(sql)?;
    conn.pragma_update(None, "synchronous", synchronous)
        .map_err(sql)?;
    conn.pragma_update(None, "foreign_keys", true)
        .map_err(sql)?;
    if found.is_none() {
        let tx = conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sql)?;
        // Another process may have made the tables since they were looked for.
        let found = format_of(&tx, path)?;
        judge_writable(found, path)?;
        if found.is_none() {
            tx.execute_batch(SCHEMA).map_err(sql)?;
            tx.execute_batch(NAME_LOG).map_err(sql)?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)
                .map_err(sql)?;
            tx.pragma_update(None, "user_version", STORE_FORMAT)
                .map_err(sql)?;
        }
        tx.commit().map_err(sql)?;
    }
    Ok(conn)
}

/// Refuses to write a store of an older format: that is for its migration alone.
fn judge_writable(found: Option<i32>, path: &Path) -> Result<(), StoreError> {
    match found {
        Some(found) if found < STORE_FORMAT => Err(StoreError::OlderFormat {
            path: path.to_path_buf(),
            found,
            current: STORE_FORMAT,
        }),
        Some(_) | None => Ok(()),
    }
}

/// Refuses to write a store that lost a part of its tables: what is missing would be found only once tools have run.
fn judge_whole(conn: &Connection, found: Option<i32>, path: &Path) -> Result<(), StoreError> {
    if found.is_none() {
        return Ok(());
    }
    let lacking = lacking(conn).map_err(|fault| StoreError::from_sql(path, &fault))?;
    lacking.map_or(Ok(()), |what| {
        Err(StoreError::Corrupt {
            path: path.to_path_buf(),
            reason: format!("a store of format {STORE_FORMAT} has {what}, and this one does not"),
        })
    })
}

/// The format of a store; none where the database is empty.
///
/// # Errors
/// [`StoreError`] where it is another program's, or of a format that this build does not read.
pub(super) fn format_of(conn: &Connection, path: &Path) -> Result<Option<i32>, StoreError> {
    let number = |sql: &str| {
        conn.query_row(sql, [], |row| row.get::<_, i32>(0))
            .map_err(|fault| StoreError::from_sql(path, &fault))
    };
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
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
    Ok(Some(version))
}
