//! The lock of a folder of keys: one process at a time makes and replaces keys in it. Does not know what a key is.

use std::fs::File;
use std::path::Path;

use super::KeyFileError;
use crate::store::{open_own, private_file};

/// The name of its file; no key is called so.
const NAME: &str = "_lock";

/// The right of this process to make and replace keys. The system drops it with the process, however that ends.
#[derive(Debug)]
pub(super) struct KeyLock {
    _file: File,
}

impl KeyLock {
    /// Locks a folder, which is there and judged; waits for who has it now.
    pub(super) fn of(folder: &Path) -> Result<Self, KeyFileError> {
        let path = folder.join(NAME);
        let mut options = private_file();
        let options = options.create(true).read(true).truncate(false).write(true);
        let locked = open_own(options, &path).and_then(|file| file.lock().map(|()| file));
        locked
            .map(|file| Self { _file: file })
            .map_err(|fault| KeyFileError::Io {
                reason: fault.to_string(),
                path,
            })
    }
}
