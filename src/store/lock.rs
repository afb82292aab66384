use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::{Store, StoreError};
use crate::message::RunId;

/// The most bytes of a lock file that are read: a process id.
const PID_BYTES: u64 = 20;

/// The right of this process to drive one run, which no other process has at the same time.
///
/// A lock of the operating system on a file of its own beside the database, `<database>.locks/<run>`. The system drops it
/// with the process, however that ends, so a run is never left locked by a process that is gone. Appends are fenced by
/// the epoch beside it: the lock keeps two processes from performing effects, the fence keeps two from writing.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Locks a run for this process; there need not be a run of that name yet.
    ///
    /// # Errors
    /// [`StoreError::RunLocked`] where another process drives it, [`StoreError::Lock`] where the file cannot be had.
    pub fn lock_run(&self, run_id: &RunId) -> Result<RunLock, StoreError> {
        let folder = folder_of(self.path());
        let path = folder.join(run_id.as_str());
        let refuse = |fault: io::Error| StoreError::Lock {
            path: path.clone(),
            reason: fault.to_string(),
        };
        fs::create_dir_all(&folder).map_err(refuse)?;
        let mut file = File::options()
            .create(true)
            .read(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(refuse)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::RunLocked {
                    run_id: run_id.clone(),
                    holder: holder(&mut file),
                });
            }
            Err(TryLockError::Error(fault)) => return Err(refuse(fault)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()))
            .map_err(refuse)?;
        Ok(RunLock { file, path })
    }
}

impl RunLock {
    /// Gives the lock up and removes its file: for a run that is sealed. Whoever has opened the file meanwhile may still
    /// lock what is left of it, and finds a run that has ended.
    pub fn discard(self) {
        // A file that stays is a name without meaning, and the next lock takes it as it is.
        drop(fs::remove_file(&self.path));
        drop(self.file);
    }
}

fn folder_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(".locks");
    PathBuf::from(name)
}

/// Who says that it holds the lock.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES).read_to_string(&mut text).ok()?;
    text.parse().ok()
}
