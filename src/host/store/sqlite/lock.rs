//! One process to a run, one to a store: locks of the operating system. Who may write is for the epoch.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::store_file::locks_folder;
use crate::store::StoreError;
use crate::store::database::{HeldRun, RunDriver, RunLock};
use crate::store::private::{open_own, own_folder, private_file, private_folder};
use crate::store::regular_file::open_regular_name;
use monolith_core::message::RunId;

/// The most bytes of a lock file that are read: a process id.
const PID_BYTES: u64 = 20;
/// Maximum number of tries for a lock when only readers are in the way, each for the moment of one look. The first tries follow
/// at once, the others a millisecond apart, because a reader that is not running keeps its lock until it runs again.
const LOOKS: u32 = 1000;
const LOOKS_AT_ONCE: u32 = 100;

/// A lock of the operating system on a separate file next to the database, `<database>.locks/<run>`. The system drops it with
/// the process, however that ends, so a run is never left locked by a process that is gone. The epoch fences appends in
/// addition: the lock keeps two processes from performing effects, the fence keeps two from writing.
#[derive(Debug)]
pub(super) struct RunFileLock {
    file: LockedFile,
    path: PathBuf,
    /// Keeps others from rewriting the store; given up with the last run of this process.
    _store: Arc<LockedFile>,
}

/// The lock of a store as a whole that the runs of a process share, so that each run holds one file open, not two.
#[derive(Debug, Default)]
pub(super) struct SharedStoreLock(Mutex<Weak<LockedFile>>);

/// The right of this process to rewrite a whole store: no run of it is driven meanwhile.
#[derive(Debug)]
pub(super) struct StoreLock {
    _file: LockedFile,
}

/// A file that this process has locked. The lock is given up by name, not by closing: a child that is being started has the open
/// file too, until its program begins.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing gives it up as well, only later.
        drop(self.0.unlock());
    }
}

/// The lock file of a store as a whole: every driver shares its lock, who rewrites the store has it alone. No run is called so.
const WHOLE: &str = "_store";

impl SharedStoreLock {
    /// Locks a run of the store at that path for this process.
    pub(super) fn lock_run(&self, database: &Path, run_id: &RunId) -> Result<RunLock, StoreError> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match shared.upgrade() {
            Some(store) => store,
            None => Arc::new(share_store(database)?),
        };
        *shared = Arc::downgrade(&store);
        drop(shared);
        let lock = lock_run_within(database, run_id, store)?;
        Ok(RunLock(Box::new(lock)))
    }
}

/// Locks a run of the store at that path for this process.
pub(super) fn lock_run(database: &Path, run_id: &RunId) -> Result<RunFileLock, StoreError> {
    let store = share_store(database)?;
    lock_run_within(database, run_id, Arc::new(store))
}

/// Keeps others from rewriting a store.
fn share_store(database: &Path) -> Result<LockedFile, StoreError> {
    let folder = locks_folder(database);
    let store = lock_file(&folder, &folder.join(WHOLE))?;
    match store.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::InUse {
                path: database.to_owned(),
                user: "another process rewrites it".to_owned(),
            });
        }
        Err(TryLockError::Error(fault)) => return Err(refused(&folder.join(WHOLE), &fault)),
    }
    Ok(LockedFile(store))
}

fn lock_run_within(
    database: &Path,
    run_id: &RunId,
    store: Arc<LockedFile>,
) -> Result<RunFileLock, StoreError> {
    let folder = locks_folder(database);
    let path = folder.join(run_id.as_str());
    let refuse = |fault: io::Error| refused(&path, &fault);
    for _ in 0..LOOKS {
        let mut file = lock_file(&folder, &path)?;
        match lock_alone(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::RunLocked {
                    run_id: run_id.clone(),
                    holder: holder(&mut file),
                });
            }
            Err(TryLockError::Error(fault)) => return Err(refuse(fault)),
        }
        let file = LockedFile(file);
        // The process that had the lock before may have removed the file since it was opened. A lock on what is left of it keeps no process away.
        if !has_name(&file.0, &path).map_err(refuse)? {
            continue;
        }
        let mut lock = RunFileLock {
            file,
            path,
            _store: store,
        };
        return match lock.name_holder() {
            Ok(()) => Ok(lock),
            Err(fault) => {
                let fault = refused(&lock.path, &fault);
                lock.give_up();
                Err(fault)
            }
        };
    }
    Err(StoreError::RunLocked {
        run_id: run_id.clone(),
        holder: None,
    })
}

/// True if the open file has that name now.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let opened = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(fault) => Err(fault),
    }
}

#[cfg(not(unix))]
fn has_name(_file: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

/// Who drives a run now; `None` if no process does. Takes no lock away: a process that asks for it meanwhile gets it.
///
/// # Errors
/// [`StoreError::Lock`] where the lock file cannot be read.
pub(super) fn driver_of(database: &Path, run_id: &RunId) -> Result<Option<RunDriver>, StoreError> {
    let path = locks_folder(database).join(run_id.as_str());
    let mut file = match open_regular_name(OpenOptions::new().read(true), &path) {
        Ok(file) => file,
        // A run that no process has driven on this machine, or that has ended.
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(refused(&path, &fault)),
    };
    match file.try_lock_shared() {
        Ok(()) => {
            drop(LockedFile(file));
            Ok(None)
        }
        Err(TryLockError::WouldBlock) => Ok(Some(RunDriver {
            pid: holder(&mut file),
        })),
        Err(TryLockError::Error(fault)) => Err(refused(&path, &fault)),
    }
}

impl RunFileLock {
    /// The open file as a child has it that is being started.
    #[cfg(test)]
    pub(super) fn inherited(&self) -> File {
        self.file.0.try_clone().expect("a descriptor")
    }

    /// Writes down which process has the lock.
    fn name_holder(&mut self) -> io::Result<()> {
        let file = &mut self.file.0;
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "{}", std::process::id())
    }

    /// Gives the lock up and removes its file: for a run that is sealed, and for one that was never created. A process that has opened the file
    /// meanwhile finds that it has no name any more, and opens the next one.
    pub(super) fn give_up(self) {
        // A file that stays is a name without meaning, and the next lock takes it as it is.
        drop(fs::remove_file(&self.path));
        drop(self.file);
    }
}

impl HeldRun for RunFileLock {
    fn discard(self: Box<Self>) {
        self.give_up();
    }
}

/// Locks a whole store for this process.
///
/// # Errors
/// [`StoreError::InUse`] where a run of it is being driven or another process rewrites it, [`StoreError::Lock`] where the
/// files cannot be had.
pub(super) fn lock_store(database: &Path) -> Result<StoreLock, StoreError> {
    let folder = locks_folder(database);
    let path = folder.join(WHOLE);
    let in_use = |user: String| StoreError::InUse {
        path: database.to_owned(),
        user,
    };
    let file = lock_file(&folder, &path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(in_use(
                "a run of it is being driven, or another process rewrites it".to_owned(),
            ));
        }
        Err(TryLockError::Error(fault)) => return Err(refused(&path, &fault)),
    }
    Ok(StoreLock {
        _file: LockedFile(file),
    })
}

fn lock_file(folder: &Path, path: &Path) -> Result<File, StoreError> {
    private_folder(folder)
        .and_then(|()| own_folder(folder))
        .map_err(|fault| refused(path, &fault))?;
    let mut file = private_file();
    let file = file.create(true).read(true).truncate(false).write(true);
    open_own(file, path).map_err(|fault| refused(path, &fault))
}

/// Locks a file for this process alone. Readers that look whether it is locked share a lock for a moment: they are passed.
fn lock_alone(file: &File) -> Result<(), TryLockError> {
    for look in 0..LOOKS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            settled => return settled,
        }
        // Where a lock can be shared, no process holds it alone.
        file.try_lock_shared()?;
        file.unlock().map_err(TryLockError::Error)?;
        if look < LOOKS_AT_ONCE {
            std::thread::yield_now();
        } else {
            // No thread wakes this one: the pause ends by itself.
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
    Err(TryLockError::WouldBlock)
}

pub(super) fn refused(path: &Path, fault: &io::Error) -> StoreError {
    let path = path.to_owned();
    match fault.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull { path },
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
        _ => StoreError::Lock {
            path,
            reason: fault.to_string(),
        },
    }
}

/// Who says that it holds the lock.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES).read_to_string(&mut text).ok()?;
    text.parse().ok()
}
