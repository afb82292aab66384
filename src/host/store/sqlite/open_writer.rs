//! The opening of a store for writing, and its creation if missing.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::formats::STORE_FORMAT;
use super::open_reader::{BUSY, distrust, judge_log, open_to_read};
use super::schema::{APPLICATION_ID, BLOB_INDEX, NAME_LOG, SCHEMA, format_of, judge_whole};
use super::store_file::StoreFile;
use crate::store::StoreError;
use crate::store::private::private_file;
use crate::store::regular_file::judge_folder;

/// The size of a page. Each commit writes a few rows and whole pages, so small pages are what a step costs: a turn writes a third of what it
/// writes with pages of 4 KiB.
const PAGE_BYTES: u32 = 1024;
/// Number of pages that the log of writes holds before they are taken into the file: 4 MiB.
const LOG_PAGES: u32 = 4096;
/// Maximum number of requests for a log of writes.
const LOG_ATTEMPTS: u32 = 64;

/// The durability of an acknowledged append.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives the loss of power.
    #[default]
    Full,
    /// It survives the death of the process, not the loss of power.
    Normal,
}

/// Opens the one connection that writes, and makes the tables where the file is new.
pub(super) fn open_writer(
    file: &StoreFile,
    durability: Durability,
    busy: Duration,
) -> Result<Connection, StoreError> {
    let path = file.path();
    // No one has put a link there since it was judged.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    file.judge()?;
    // SQLite gives the files next to this one the same mode. If it cannot be made, or exists, SQLite judges it.
    drop(private_file().write(true).create_new(true).open(path));
    // What another user has put there meanwhile is not opened either.
    file.judge()?;
    judge_log(path)?;
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
    if found.is_none() {
        // Before the first page is written; afterwards it changes nothing.
        conn.pragma_update(None, "page_size", PAGE_BYTES)
            .map_err(sql)?;
    }
    keep_log_of_writes(&conn).map_err(sql)?;
    conn.pragma_update(None, "synchronous", synchronous)
        .map_err(sql)?;
    conn.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)
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
            tx.execute_batch(BLOB_INDEX).map_err(sql)?;
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

/// Refuses the path of a store that `open_writer` would refuse, as far as that shows without making or changing anything.
///
/// # Errors
/// [`StoreError`], as of opening it.
pub fn judge_to_write(path: &Path) -> Result<(), StoreError> {
    let file = StoreFile::of(path)?;
    file.judge()?;
    let path = file.path();
    let refuse = |fault: io::Error| StoreError::CannotOpen {
        path: path.to_path_buf(),
        reason: fault.to_string(),
    };
    if path.is_dir() {
        let path = path.to_path_buf();
        return Err(StoreError::Folder { path });
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let text = format!("{} is no folder", folder.display());
        return Err(refuse(io::Error::new(io::ErrorKind::NotADirectory, text)));
    }
    judge_folder(folder).map_err(refuse)?;
    let size = match fs::metadata(path) {
        Ok(found) => found.len(),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(fault) => return Err(refuse(fault)),
    };
    OpenOptions::new()
        .append(true)
        .open(path)
        .map_err(|_| StoreError::ReadOnly {
            path: path.to_path_buf(),
        })?;
    // A first write that was cut off leaves an empty file, which the next one takes.
    if size == 0 {
        return Ok(());
    }
    judge_log(path)?;
    let conn = open_to_read(&file, BUSY)?;
    let found = format_of(&conn, path)?;
    judge_writable(found, path)?;
    judge_whole(&conn, found, path)
}

/// Switches the file to a write-ahead log. SQLite does not wait where several connections switch a new file at once, lest they wait
/// for each other: it reports a lock. It does wait for a turn to write; after that the log is there, or can be asked for again.
///
/// The switch itself is a write under the mode before. That write keeps its journal in memory, so that a kill at this moment leaves no
/// rollback journal beside the store: each one there is somebody else's. It changes a few bytes within the first sector of the file.
pub(super) fn keep_log_of_writes(conn: &Connection) -> rusqlite::Result<()> {
    for _ in 1..LOG_ATTEMPTS {
        match switch_to_log(conn) {
            Err(fault) if fault.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                conn.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
            }
            other => return other,
        }
    }
    switch_to_log(conn)
}

fn switch_to_log(conn: &Connection) -> rusqlite::Result<()> {
    let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" {
        conn.pragma_update(None, "journal_mode", "MEMORY")?;
    }
    conn.pragma_update(None, "journal_mode", "WAL")
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
