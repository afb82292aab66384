//! Files of a run for its owner alone. Does not know what is in them.

use std::io::{self, Write as _};
use std::path::Path;

use crate::error::ServiceError;
use crate::error::system::SystemFault;
use monolith_host::store::{NewFile, PRIVATE};

/// Writes a file into a folder, which is made where it is not there.
pub fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ServiceError> {
    std::fs::create_dir_all(folder).map_err(|fault| SystemFault::CannotWrite {
        path: folder.to_owned(),
        reason: fault.to_string(),
    })?;
    write(&folder.join(name), bytes)
}

/// Replaces a file with these bytes, for its owner alone: conversations hold what was said.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    let put = || -> io::Result<()> {
        let mut new = NewFile::over_file(path, PRIVATE)?;
        new.file().write_all(bytes)?;
        new.replace()
    };
    Ok(put().map_err(|fault| SystemFault::CannotWrite {
        path: path.to_owned(),
        reason: fault.to_string(),
    })?)
}
