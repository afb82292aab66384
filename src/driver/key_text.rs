//! The texts of key files, read after their owners and modes were judged. Does not know what a key is.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::key_file_error::KeyFileError;
use crate::store::Exposure;

/// The longest key file; a file of public keys grows with each rotation.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads public keys after checking that no other user may write them.
pub(super) fn read_public(path: &Path) -> Result<String, KeyFileError> {
    let refuse = |fault: io::Error| refuse(path, &fault);
    let file = File::open(path).map_err(refuse)?;
    let to_path = || path.to_owned();
    match Exposure::of_file_to_write(&file).map_err(refuse)? {
        None => read(file).map_err(refuse),
        Some(Exposure::Mode(mode)) => Err(KeyFileError::Public {
            path: to_path(),
            mode,
        }),
        Some(Exposure::Owner(uid)) => Err(KeyFileError::Owner {
            path: to_path(),
            uid,
        }),
    }
}

/// Reads a secret after checking that no other user may.
pub(super) fn read_secret(path: &Path) -> Result<String, KeyFileError> {
    let text = read_secret_once(path)?;
    // The file that was opened may have been replaced, and written over, before it was read.
    if text.trim().is_empty() {
        return read_secret_once(path);
    }
    Ok(text)
}

fn read_secret_once(path: &Path) -> Result<String, KeyFileError> {
    let refuse = |fault: io::Error| refuse(path, &fault);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            let name = path.display().to_string();
            return Err(KeyFileError::None { name });
        }
        Err(fault) => return Err(refuse(fault)),
    };
    let to_path = || path.to_owned();
    match Exposure::of_file(&file).map_err(refuse)? {
        None => read(file).map_err(refuse),
        Some(Exposure::Mode(mode)) => Err(KeyFileError::Permissions {
            path: to_path(),
            mode,
        }),
        Some(Exposure::Owner(uid)) => Err(KeyFileError::Owner {
            path: to_path(),
            uid,
        }),
    }
}

/// The whole of a key file. A part would not do: a revocation may come last.
fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read <= MAX_FILE_BYTES) {
        return Ok(text);
    }
    let rule = format!("it is longer than {MAX_FILE_BYTES} bytes");
    Err(io::Error::new(io::ErrorKind::InvalidData, rule))
}

pub(super) fn refuse(path: &Path, fault: &io::Error) -> KeyFileError {
    KeyFileError::Io {
        path: path.to_owned(),
        reason: fault.to_string(),
    }
}
