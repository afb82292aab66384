//! The opening of a store for reading only, whatever state its files were left in.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use super::formats;
use super::schema::format_of;
use super::store_file::StoreFile;
use crate::store::StoreError;
use crate::store::regular_file::open_regular;

/// The header of a database, and that of the page of its tables.
const HEAD_BYTES: usize = 108;
/// Looks for a missing log of writes before its store counts as a copy without it.
const LOG_LOOKS: u32 = 80;
/// Time between two of these looks.
const LOG_PAUSE: Duration = Duration::from_millis(25);

/// Opens a connection that only reads, and makes nothing.
///
/// First takes in a log of writes that was cut off, if this process may write the file. If it can write neither the file nor
/// anything next to it, it reads the file as it is: no process changes it meanwhile.
pub(super) fn open_reader(file: &StoreFile, busy: Duration) -> Result<Connection, StoreError> {
    let path = file.path();
    // SQLite makes an empty log where there is none.
    judge_log(path)?;
    let conn = open_to_read(file, busy)?;
    let format = format_of(&conn, path)?.ok_or_else(|| StoreError::Empty {
        path: path.to_path_buf(),
    })?;
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    take_as_runs(&conn).map_err(sql)?;
    if format <= formats::FORMAT {
        formats::read_as_next(&conn).map_err(sql)?;
    }
    Ok(conn)
}

/// A store of a build before workflows has runs alone, and no column that says so: it is read as what it is. Writing to it is refused.
fn take_as_runs(conn: &Connection) -> rusqlite::Result<()> {
    let (runs, kinds): (bool, bool) = conn.query_row(
        "SELECT count(*) > 0, count(*) FILTER (WHERE name = 'kind') > 0 FROM pragma_table_info('runs')",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if runs && !kinds {
        // A name of this connection alone, which comes before that of the file.
        conn.execute_batch(
            "CREATE TEMP VIEW runs AS SELECT all_runs.*, 'run' AS kind FROM main.runs AS all_runs",
        )?;
    }
    Ok(())
}

/// [`open_reader`] for whatever database it is, an empty one included.
pub(super) fn open_to_read(file: &StoreFile, busy: Duration) -> Result<Connection, StoreError> {
    let path = file.path();
    file.judge_beside()?;
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let fault = match connect(path, read_only, busy) {
        Ok(conn) => return Ok(conn),
        Err(fault) => fault,
    };
    let refused = |fault| StoreError::from_sql(path, &fault);
    match code_of(&fault) {
        Some(ffi::SQLITE_READONLY_RECOVERY) => {
            // The log replaces pages of the store, so it must be as much our own as a store that is written.
            file.judge()?;
            // A connection that may write takes the log in as soon as it reads.
            drop(
                connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, busy)
                    .map_err(|fault| cut_off(path).unwrap_or_else(|| refused(fault)))?,
            );
            connect(path, read_only, busy)
                .map_err(|fault| cut_off(path).unwrap_or_else(|| refused(fault)))
        }
        Some(code) if may_be_frozen(code) && path.is_file() && is_frozen(path) => {
            if let Some(fault) = cut_off(path) {
                return Err(fault);
            }
            let flags = read_only | OpenFlags::SQLITE_OPEN_URI;
            connect(Path::new(&immutable(path)), flags, busy).map_err(refused)
        }
        _ => Err(refused(fault)),
    }
}

fn connect(path: &Path, access: OpenFlags, busy: Duration) -> rusqlite::Result<Connection> {
    let always = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, access | always)?;
    distrust(&conn)?;
    conn.busy_timeout(busy)?;
    // Only a read finds out whether the file can be read.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

fn code_of(fault: &rusqlite::Error) -> Option<i32> {
    fault.sqlite_error().map(|error| error.extended_code)
}

/// Returns true for SQLite's errors when it cannot make the files that it needs next to a database.
const fn may_be_frozen(code: i32) -> bool {
    matches!(
        code & 0xff,
        ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY | ffi::SQLITE_IOERR | ffi::SQLITE_PROTOCOL
    )
}

/// Refuses a copy without its log of writes: another run in it would hide those that it was copied for. For a moment, a store that
/// another process makes looks the same, so the file is looked at for two seconds.
pub(super) fn judge_log(path: &Path) -> Result<(), StoreError> {
    for _ in 1..LOG_LOOKS {
        if without_log(path).is_none() {
            return Ok(());
        }
        thread::park_timeout(LOG_PAUSE);
    }
    without_log(path).map_or(Ok(()), Err)
}

/// Reports a file that is in use with a log of writes, has nothing itself, and has no such log: all of it was in the log. The
/// parts of the header are those of the SQLite file format (§1.3, §1.6).
fn without_log(path: &Path) -> Option<StoreError> {
    let log = log_of(path);
    let is_missing =
        std::fs::symlink_metadata(&log).is_err_and(|fault| fault.kind() == io::ErrorKind::NotFound);
    if !is_missing {
        return None;
    }
    let mut head = [0; HEAD_BYTES];
    let mut file = open_regular(path).ok()?;
    file.read_exact(&mut head).ok()?;
    let holds =
        |at: usize, bytes: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(bytes));
    let keeps_log = holds(0, b"SQLite format 3\0") && holds(18, &[2, 2]);
    let has_no_table = holds(100, &[0x0d]) && holds(103, &[0, 0]);
    (keeps_log && has_no_table).then(|| StoreError::WithoutLog {
        path: path.to_path_buf(),
        log,
    })
}

/// The path of a store's log of writes.
fn log_of(path: &Path) -> PathBuf {
    let mut log = OsString::from(path);
    log.push("-wal");
    PathBuf::from(log)
}

/// Reports writes that are not in the file yet: they are still in its log.
fn cut_off(path: &Path) -> Option<StoreError> {
    let left = log_of(path);
    let holds = std::fs::metadata(&left).is_ok_and(|file| file.len() > 0);
    holds.then(|| StoreError::CutOff {
        path: path.to_path_buf(),
        left,
    })
}

/// Returns true if no process with the rights of this one can write to the file: its file system is mounted read-only, or
/// nothing can be made in its folder.
#[cfg(unix)]
fn is_frozen(path: &Path) -> bool {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    let mounted = statvfs(path);
    let read_only = mounted.is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    read_only || access(folder.unwrap_or(Path::new(".")), Access::WRITE_OK).is_err()
}

#[cfg(not(unix))]
fn is_frozen(_path: &Path) -> bool {
    false
}

/// The file as an address of SQLite: one that no process writes, so that no lock and no other file is needed.
fn immutable(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                address.push(char::from(*byte));
            }
            _ => {
                use std::fmt::Write as _;
                // Writing to a string does not fail.
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address.push_str("?immutable=1");
    address
}

/// Maximum wait for another process's lock.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// Disables the code that a file brings with it: a trigger could drop written rows, and a view that replaces a table could
/// never end.
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_the_file_whatever_its_name() {
        let check = |path: &str, expect: &str| {
            assert_eq!(immutable(Path::new(path)), expect);
        };
        check("/a/runs.db", "file:/a/runs.db?immutable=1");
        check(
            "/a b/50%?#é.db",
            "file:/a%20b/50%25%3F%23%C3%A9.db?immutable=1",
        );
    }
}
