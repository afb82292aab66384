//! The texts of key files, read after their owners and modes were judged. Does not know what a key is.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::key_file_error::KeyFileError;
use crate::store::Exposure;

/// The longest key file; a file of public keys grows with each rotation.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of attempts to read a secret that another process keeps replacing.
const MOST_READS: u32 = 1_000;

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

/// Reads a secret after checking that no other user may. The file that was opened may be replaced, and written over, before it is read:
/// then the one that has its name is read in its place.
pub(super) fn read_secret(path: &Path) -> Result<String, KeyFileError> {
    read_opened(path, |path| File::open(path))
}

fn read_opened(
    path: &Path,
    mut open: impl FnMut(&Path) -> io::Result<File>,
) -> Result<String, KeyFileError> {
    let refuse = |fault: io::Error| refuse(path, &fault);
    for _ in 0..MOST_READS {
        let file = match open(path) {
            Ok(file) => file,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                let name = path.display().to_string();
                return Err(KeyFileError::None { name });
            }
            Err(fault) => return Err(refuse(fault)),
        };
        let read = file.try_clone().map_err(refuse)?;
        let text = read_own(read, path)?;
        if has_name(&file, path).map_err(refuse)? {
            return Ok(text);
        }
    }
    let rule = "it is replaced again and again";
    Err(refuse(io::Error::new(io::ErrorKind::WouldBlock, rule)))
}

/// Returns true if the name now leads to the open file. The file then had the name while it was read, and is not overwritten
/// before it loses it.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let opened = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(fault) => Err(fault),
    }
}

#[cfg(not(unix))]
fn has_name(_file: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

fn read_own(file: File, path: &Path) -> Result<String, KeyFileError> {
    let refuse = |fault: io::Error| refuse(path, &fault);
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::OpenOptionsExt as _;

    use super::*;

    /// As two rotations do it, one after the other, each between the opening of the file and its reading.
    #[test]
    fn a_secret_that_is_replaced_while_it_is_read_is_read_again_however_often() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local.key");
        let put = |text: &str| {
            let new = folder.path().join("new");
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let mut file = options.open(&new).unwrap();
            io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            fs::rename(new, &path).unwrap();
        };
        put("key 0");
        let mut opened = 0;
        let read = read_opened(&path, |path| {
            opened += 1;
            let file = File::open(path)?;
            if opened < 4 {
                let old = folder.path().join("old");
                fs::hard_link(path, &old)?;
                put(&format!("key {opened}"));
                fs::write(&old, "\n\n\n\n\n")?;
                fs::remove_file(old)?;
            }
            Ok(file)
        });
        assert_eq!(read.unwrap(), "key 3");
        assert_eq!(opened, 4);
    }
}
