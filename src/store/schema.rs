use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{StoreError, run_log};

/// `mono` in ASCII: what tells a store from other programs' databases.
pub const APPLICATION_ID: i32 = 0x6d6f_6e6f;
/// The format of the tables below, kept as the database's `user_version`.
pub const STORE_FORMAT: i32 = 1;

/// How sure an acknowledged append is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives the loss of power.
    #[default]
    Full,
    /// It survives the death of the process, not the loss of power.
    Normal,
}

/// `head_seq` is -1 before entry 0. `class` and `code` are null until the seal. Columns outside the hash: `created_unix_ms`, `epoch`, `owner`.
const SCHEMA: &str = "
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
";

/// What signatures and the log of runs keep; made where it is missing, so that a store of before it opens and is written. The log
/// has a random name, so that no two logs are taken for one another.
const EVIDENCE: &str = "
CREATE TABLE IF NOT EXISTS checkpoints(
    run INTEGER NOT NULL REFERENCES runs(id),
    entries INTEGER NOT NULL,
    note TEXT NOT NULL,
    UNIQUE(run, entries)
) STRICT;
CREATE TABLE IF NOT EXISTS log_leaves(
    idx INTEGER PRIMARY KEY,
    run INTEGER NOT NULL UNIQUE REFERENCES runs(id),
    leaf TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS log_name(
    only INTEGER PRIMARY KEY CHECK(only = 1),
    name TEXT NOT NULL
) STRICT;
INSERT OR IGNORE INTO log_name(only, name) VALUES(1, lower(hex(randomblob(8))));
";

/// Makes the tables of [`EVIDENCE`] where they are missing; runs that were sealed before get their leaves, the oldest first.
fn make_evidence(conn: &mut Connection) -> rusqlite::Result<()> {
    if has_log(conn)? {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !has_log(&tx)? {
        tx.execute_batch(EVIDENCE)?;
        run_log::log_sealed_runs(&tx)?;
    }
    tx.commit()
}

/// Whether the store keeps a log of runs.
pub(super) fn has_log(conn: &Connection) -> rusqlite::Result<bool> {
    let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('log_name', 'log_leaves', 'checkpoints')";
    conn.query_row(tables, [], |row| Ok(row.get::<_, i64>(0)? == 3))
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
    conn.busy_timeout(busy).map_err(sql)?;
    let fresh = check_format(&conn, path)?;
    // SQLite falls back to reading where the file may not be written.
    if conn.is_readonly("main").map_err(sql)? {
        return Err(StoreError::ReadOnly {
            path: path.to_path_buf(),
        });
    }
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
    if fresh {
        let tx = conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sql)?;
        // Another process may have made the tables since they were looked for.
        if check_format(&tx, path)? {
            tx.execute_batch(SCHEMA).map_err(sql)?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)
                .map_err(sql)?;
            tx.pragma_update(None, "user_version", STORE_FORMAT)
                .map_err(sql)?;
        }
        tx.commit().map_err(sql)?;
    }
    make_evidence(&mut conn).map_err(sql)?;
    Ok(conn)
}

/// Opens a connection that only reads.
pub(super) fn open_reader(path: &Path, busy: Duration) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let conn = Connection::open_with_flags(path, flags).map_err(sql)?;
    conn.busy_timeout(busy).map_err(sql)?;
    if check_format(&conn, path)? {
        return Err(StoreError::Foreign {
            path: path.to_path_buf(),
            found: 0,
        });
    }
    Ok(conn)
}

/// Refuses what is not a store of a format that this build reads. True where the database is empty.
fn check_format(conn: &Connection, path: &Path) -> Result<bool, StoreError> {
    let number = |sql: &str| {
        conn.query_row(sql, [], |row| row.get::<_, i32>(0))
            .map_err(|fault| StoreError::from_sql(path, &fault))
    };
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if (application, version, tables) == (0, 0, 0) {
        return Ok(true);
    }
    if application != APPLICATION_ID {
        return Err(StoreError::Foreign {
            path: path.to_path_buf(),
            found: application,
        });
    }
    if version != STORE_FORMAT {
        return Err(StoreError::NewerFormat {
            path: path.to_path_buf(),
            found: version,
            supported: STORE_FORMAT,
        });
    }
    Ok(false)
}
