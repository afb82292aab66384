//! A store brought to another format: copied, changed in one transaction, verified. What a format consists of is `formats.rs`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::formats::{STORE_FORMAT, steps};
use super::lock::lock_store;
use super::open_reader::{BUSY, distrust, open_to_read};
use super::open_writer::keep_log_of_writes;
use super::store_file::StoreFile;
use super::{schema, verify};
use crate::store::StoreError;
use crate::store::new_file::free_bytes;
use crate::store::private::private_file;
use monolith_core::message::RunId;
use monolith_core::transcript::{FirstBad, Trust};

/// Maximum number of copies of earlier migrations next to a store.
const MOST_COPIES: u32 = 100;

/// The result of a migration, or of a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The format before.
    pub from: i32,
    /// The format after.
    pub to: i32,
    /// The copy of the store as it was; `None` if nothing was written.
    pub copy: Option<PathBuf>,
    /// The changes made, or planned, in words.
    pub steps: Vec<&'static str>,
    /// The verification of the runs, the same after the migration as before it.
    pub verified: Verified,
}

/// The verification of a store's runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of verified runs.
    pub runs: u64,
    /// The runs that do not hold, with the reasons.
    pub bad: Vec<(String, FirstBad)>,
}

/// The reason why no migration took place; the store is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller: an older format was asked for.
    #[error("migrate {} from format {from} to {asked}: nothing is migrated to an older format", path.display())]
    Downgrade {
        /// The file.
        path: PathBuf,
        /// Its format.
        from: i32,
        /// The requested format.
        asked: i32,
    },
    /// The caller: no build that this one knows of has such a format.
    #[error("migrate {} to format {asked}: this build knows up to {STORE_FORMAT}", path.display())]
    UnknownTarget {
        /// The file.
        path: PathBuf,
        /// The requested format.
        asked: i32,
    },
    /// The caller: the file is empty.
    #[error("migrate {}: there is no store in it", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The operator: there is no room for the copy and the migration.
    #[error("migrate {}: it takes {needed} free bytes, and there are {free}", path.display())]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Needed bytes.
        needed: u64,
        /// Free bytes.
        free: u64,
    },
    /// The operator: the copy cannot be written.
    #[error("copy the store to {}: {reason}", path.display())]
    Copy {
        /// The copy.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// monolith: a run verifies otherwise than before.
    #[error("migrate {}: run {run} would verify otherwise than before", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The run.
        run: String,
    },
}

/// Brings the store at `path` to the newest format, or to the format `to`; `dry_run` writes nothing.
///
/// First makes a synced copy next to it. One transaction then does all of it, and commits only if every run verifies after it
/// as it did before. Any interruption therefore leaves the old store or the new one.
///
/// # Errors
/// [`MigrateError`]; [`StoreError::InUse`] where a run of the store is being driven.
pub fn migrate(path: &Path, to: Option<i32>, dry_run: bool) -> Result<Migration, MigrateError> {
    migrate_watched(path, to, dry_run, |_| ())
}

/// [`migrate`]; `passes` is called after each step, so that a test can look at what a kill would leave there.
pub(super) fn migrate_watched(
    path: &Path,
    to: Option<i32>,
    dry_run: bool,
    mut passes: impl FnMut(&'static str),
) -> Result<Migration, MigrateError> {
    let file = StoreFile::of(path)?;
    let path = file.path();
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = if dry_run {
        open_to_read(&file, BUSY)?
    } else {
        file.judge()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags).map_err(sql)?
    };
    distrust(&conn).map_err(sql)?;
    conn.busy_timeout(BUSY).map_err(sql)?;
    let from = schema::format_of(&conn, path)?.ok_or_else(|| MigrateError::Empty {
        path: path.to_owned(),
    })?;
    let to = target(path, from, to)?;
    let mut done = Migration {
        from,
        to,
        copy: None,
        steps: steps(from, to).map(|step| step.what).collect(),
        verified: Verified::default(),
    };
    if from == to {
        return Ok(done);
    }
    if dry_run {
        let tx = conn.unchecked_transaction().map_err(sql)?;
        done.verified = verify_all(&tx).map_err(sql)?;
        return Ok(done);
    }
    if conn.is_readonly("main").map_err(sql)? {
        return Err(MigrateError::Store(StoreError::ReadOnly {
            path: path.to_owned(),
        }));
    }
    let _lock = lock_store(path)?;
    done.copy = Some(copy(&conn, path, from, &mut passes)?);
    passes("the copy has its name");
    // What is cut off then lies beside the file, where readers leave it alone, and not in a journal that they would have to roll back.
    keep_log_of_writes(&conn).map_err(sql)?;
    passes("the log of writes is beside the file");
    conn.pragma_update(None, "synchronous", "FULL")
        .map_err(sql)?;
    let tx = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    // Another process may have migrated it since its format was looked at.
    if schema::format_of(&tx, path)? != Some(from) {
        let user = "another process has changed its format".to_owned();
        let path = path.to_owned();
        return Err(StoreError::InUse { path, user }.into());
    }
    let before = verify_all(&tx).map_err(sql)?;
    for step in steps(from, to) {
        (step.apply)(&tx).map_err(sql)?;
    }
    passes("the tables are changed");
    tx.pragma_update(None, "user_version", to).map_err(sql)?;
    // The pages first, so that the commit has little left to do.
    tx.cache_flush().map_err(sql)?;
    passes("its pages are written");
    let after = verify_all(&tx).map_err(sql)?;
    if before != after {
        let pairs = before.bad.iter().zip(&after.bad);
        let changed = pairs.filter(|(a, b)| a != b).map(|(a, _)| a.0.clone());
        let more = after.bad.iter().map(|(run, _)| run.clone());
        return Err(MigrateError::Changed {
            path: path.to_owned(),
            run: changed.chain(more).next().unwrap_or_default(),
        });
    }
    tx.commit().map_err(sql)?;
    passes("it is committed");
    done.verified = after;
    drop(conn);
    passes("the file is closed");
    Ok(done)
}

fn target(path: &Path, from: i32, to: Option<i32>) -> Result<i32, MigrateError> {
    let path = path.to_owned();
    match to {
        None => Ok(STORE_FORMAT),
        Some(asked) if asked > STORE_FORMAT => Err(MigrateError::UnknownTarget { path, asked }),
        Some(asked) if asked < from => Err(MigrateError::Downgrade { path, from, asked }),
        Some(asked) => Ok(asked),
    }
}

/// Verifies every run, as far as each has come.
fn verify_all(conn: &Connection) -> rusqlite::Result<Verified> {
    let names: Vec<Vec<u8>> = conn
        .prepare("SELECT CAST(run_id AS BLOB) FROM runs ORDER BY id")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut verified = Verified::default();
    let trust = Arc::new(Trust::default());
    for name in names {
        verified.runs = verified.runs.saturating_add(1);
        let name = String::from_utf8_lossy(&name).into_owned();
        let Ok(run_id) = RunId::try_from(name.clone()) else {
            continue;
        };
        let report = verify::judge(conn, &run_id, true, &trust)?;
        if let Some(bad) = report.and_then(|report| report.first_bad) {
            verified.bad.push((name, bad));
        }
    }
    Ok(verified)
}

/// Makes an empty file that as many may read as the store, and no more.
fn make_alike(path: &Path, store: &Path) -> io::Result<()> {
    let file = private_file().write(true).create_new(true).open(path)?;
    file.set_permissions(fs::metadata(store)?.permissions())
}

/// Copies the store beside itself, synced, under a name that was free.
fn copy(
    conn: &Connection,
    path: &Path,
    format: i32,
    passes: &mut impl FnMut(&'static str),
) -> Result<PathBuf, MigrateError> {
    let partial = beside(path, &format!("format-{format}.partial"));
    let refuse = |path: &Path, reason: String| MigrateError::Copy {
        path: path.to_owned(),
        reason,
    };
    let io = |fault: io::Error| refuse(&partial, fault.to_string());
    check_space(conn, path)?;
    match fs::remove_file(&partial) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(io(fault)),
        _ => {}
    }
    let Some(name) = partial.to_str() else {
        return Err(refuse(&partial, "its name is not UTF-8".to_owned()));
    };
    make_alike(&partial, path).map_err(io)?;
    passes("the copy is begun");
    let copied = conn
        .execute("VACUUM INTO ?1", [name])
        .map_err(|fault| refuse(&partial, fault.to_string()))
        .and_then(|_| {
            File::open(&partial)
                .and_then(|file| file.sync_all())
                .map_err(io)
        });
    if let Err(fault) = copied {
        drop(fs::remove_file(&partial));
        return Err(fault);
    }
    passes("the copy is written");
    for number in 1..=MOST_COPIES {
        let ending = match number {
            1 => format!("format-{format}"),
            _ => format!("format-{format}.{number}"),
        };
        let copy = beside(path, &ending);
        // A link does not replace what is there.
        match fs::hard_link(&partial, &copy) {
            Ok(()) => {
                drop(fs::remove_file(&partial));
                sync_folder(&copy).map_err(|fault| refuse(&copy, fault.to_string()))?;
                return Ok(copy);
            }
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
            Err(fault) => {
                drop(fs::remove_file(&partial));
                return Err(refuse(&copy, fault.to_string()));
            }
        }
    }
    drop(fs::remove_file(&partial));
    let reason = format!("there are {MOST_COPIES} copies already");
    Err(refuse(path, reason))
}

/// The copy, and the pages that the migration writes: twice the store is more than enough.
fn check_space(conn: &Connection, path: &Path) -> Result<(), MigrateError> {
    let number = |pragma: &str| {
        conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
            .map_err(|fault| StoreError::from_sql(path, &fault))
    };
    let bytes = number("page_count")?.saturating_mul(number("page_size")?);
    let needed = u64::try_from(bytes).unwrap_or(0).saturating_mul(2);
    match free_bytes(path) {
        Some(free) if free < needed => Err(MigrateError::NoRoom {
            path: path.to_owned(),
            needed,
            free,
        }),
        _ => Ok(()),
    }
}

/// Makes the name of a file durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) {
        return File::open(folder.unwrap_or(Path::new(".")))?.sync_all();
    }
    Ok(())
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
