//! The lock of one download. Does not download.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use super::{ModelStoreError, PullError};

/// Keeps other processes from fetching the same file, until it is dropped or the process dies.
#[derive(Debug)]
pub(crate) struct PullLock(#[expect(dead_code, reason = "held for its lock, never read")] File);

impl PullLock {
    /// Takes the lock of that key in a folder, which is made where it is not there. `what` is what messages call it.
    ///
    /// # Errors
    /// [`PullError::Busy`] where another process has it, and the system's own.
    pub(crate) fn take(folder: &Path, key: &str, what: &str) -> Result<Self, PullError> {
        let path = folder.join(format!("{key}.lock"));
        let file = fs::create_dir_all(folder)
            .and_then(|()| File::create(&path))
            .map_err(|fault| ModelStoreError::io(&path, fault))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(PullError::Busy {
                what: what.to_owned(),
            }),
            Err(TryLockError::Error(fault)) => Err(ModelStoreError::io(&path, fault).into()),
        }
    }
}
