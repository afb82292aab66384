//! The lock of a folder of keys: one process at a time makes and replaces keys in it. Does not know what a key is.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use super::KeyFileError;
use crate::store::{open_own, private_file};

/// The name of its file; no key is called so.
const NAME: &str = "_lock";

/// Number of attempts to take a lock that another process has, a millisecond apart: about ten seconds. Making or replacing a
/// key takes milliseconds, so a process that has the lock longer is stopped, or never did that.
const LOOKS: u32 = 10_000;
/// The same for the lock of a token.
const TOKEN_LOOKS: u32 = 60_000;

/// The right of this process to make and replace keys. The system drops it with the process, however that ends.
#[derive(Debug)]
pub(super) struct KeyLock {
    _file: File,
}

impl KeyLock {
    /// Locks a folder, which is there and judged; waits about ten seconds for the process that has it now.
    ///
    /// # Errors
    /// [`KeyFileError::Io`], also where another process has it all that time.
    pub(super) fn of(folder: &Path) -> Result<Self, KeyFileError> {
        Self::within(&folder.join(NAME), LOOKS)
    }

    /// Locks a separate file, made if missing, and waits for about a minute: to refresh a token takes a server.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn of_token(path: &Path) -> Result<Self, KeyFileError> {
        Self::within(path, TOKEN_LOOKS)
    }

    fn within(path: &Path, looks: u32) -> Result<Self, KeyFileError> {
        let mut options = private_file();
        let options = options.create(true).read(true).truncate(false).write(true);
        let locked = open_own(options, path).and_then(|file| lock(&file, looks).map(|()| file));
        locked
            .map(|file| Self { _file: file })
            .map_err(|fault| KeyFileError::Io {
                reason: fault.to_string(),
                path: path.to_owned(),
            })
    }
}

fn lock(file: &File, looks: u32) -> io::Result<()> {
    for _ in 0..looks {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(fault)) => return Err(fault),
            // Nothing wakes this thread: it is the pause that ends.
            Err(TryLockError::WouldBlock) => std::thread::park_timeout(Duration::from_millis(1)),
        }
    }
    let rule =
        "another process has its lock, and makes or replaces a key; try again once it has ended";
    Err(io::Error::new(io::ErrorKind::WouldBlock, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_another_keeps_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let first = KeyLock::of(folder.path()).unwrap();
        let second = KeyLock::within(&folder.path().join(NAME), 3)
            .unwrap_err()
            .to_string();
        assert!(second.contains("another process has its lock"), "{second}");
        drop(first);
        KeyLock::within(&folder.path().join(NAME), 3).unwrap();
    }
}
