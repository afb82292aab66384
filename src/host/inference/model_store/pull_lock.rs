//! The lock of one download. Does not download.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use super::{ModelStoreError, PullError};
use crate::store::{open_own, own_folder, private_file, private_folder};

/// Keeps other processes from fetching the same file, until it is dropped or the process dies.
#[derive(Debug)]
pub struct PullLock(#[expect(dead_code, reason = "held for its lock, never read")] File);

impl PullLock {
    /// Takes the lock of that key in a folder, which is made where it is not there. `what` is what messages call it.
    ///
    /// # Errors
    /// [`PullError::Busy`] where another process has it, and the system's own.
    pub fn take(folder: &Path, key: &str, what: &str) -> Result<Self, PullError> {
        let path = folder.join(format!("{key}.lock"));
        let file = own_place(folder)
            .and_then(|()| open_lock(&path))
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

/// Makes a folder of the store of models where it is not there, and refuses one that others can write.
pub(super) fn own_place(folder: &Path) -> io::Result<()> {
    private_folder(folder).and_then(|()| own_folder(folder))
}

/// The file of a lock. What another has put there is neither followed nor emptied.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = private_file();
    open_own(options.create(true).truncate(false).write(true), path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn no_lock_is_taken_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let pulling = folder.path().join("pulling");
        drop(PullLock::take(&pulling, "k", "it").unwrap());
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, pulling.join("l.lock")).unwrap();
        assert!(PullLock::take(&pulling, "l", "it").is_err());
        assert_eq!(std::fs::read(&victim).unwrap(), b"kept");
    }
}
