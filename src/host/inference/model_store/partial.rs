//! A download that can be resumed. Does not know the hub's protocol.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use monolith_core::message::Digest;
use serde::{Deserialize, Serialize};

use super::{HubFile, ModelStoreError, PullError};
use crate::store::{free_bytes, open_own, own_folder, private_file, private_folder, replace_own};

/// The longest note of a file that is not whole.
const MAX_NOTE_BYTES: u64 = 64 * 1024;

/// A file that is being fetched: the bytes that are here already, and a lock that keeps other processes from it.
///
/// It stays if the process dies. The next process continues from its end as long as the hub still has the same file.
#[derive(Debug)]
pub struct Partial {
    file: File,
    have: u64,
    lock: PullLock,
    note: PathBuf,
    path: PathBuf,
    /// The file that it is to become.
    to_be: Identity,
}

/// The properties that identify a file on a hub.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    bytes: u64,
    etag: String,
    sha256: Option<String>,
    what: String,
}

impl Partial {
    /// Opens what is here of that file, or begins it, in a folder that is made where it is not there.
    ///
    /// # Errors
    /// [`PullError::Busy`] where another process has it, and the system's own.
    pub fn open(folder: &Path, file: &HubFile) -> Result<Self, PullError> {
        let key = Digest::of(file.location().as_bytes()).short(16);
        let at = |ending: &str| folder.join(format!("{key}.{ending}"));
        let (note, path) = (at("json"), at("part"));
        let lock = PullLock::take(folder, &key, &file.what())?;
        let to_be = Identity {
            bytes: file.bytes,
            etag: file.etag.clone(),
            sha256: file.sha256.clone(),
            what: file.what(),
        };
        let io = |fault| ModelStoreError::io(&path, fault);
        if known(&note).as_ref() != Some(&to_be) {
            // Another file, or none: what is here is of no use. The note is written first, so a part never lies under
            // another file's note.
            drop(fs::remove_file(&path));
            let text = serde_json::to_string(&to_be).unwrap_or_default();
            replace_own(&note, text.as_bytes())
                .map_err(|fault| ModelStoreError::io(&note, fault))?;
        }
        let part = open_own(private_file().create(true).append(true), &path);
        let part = part.map_err(io)?;
        let have = part.metadata().map_err(io)?.len();
        let mut partial = Self {
            file: part,
            have,
            lock,
            note,
            path,
            to_be,
        };
        if partial.have > partial.to_be.bytes {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// Bytes that are here.
    #[must_use]
    pub const fn have(&self) -> u64 {
        self.have
    }

    /// Bytes that are missing.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.to_be.bytes.saturating_sub(self.have)
    }

    /// Forgets the bytes that are here.
    pub(super) fn restart(&mut self) -> Result<(), PullError> {
        let emptied = self.file.set_len(0);
        emptied.map_err(|fault| ModelStoreError::io(&self.path, fault))?;
        self.have = 0;
        Ok(())
    }

    /// Adds bytes at the end. More than the file has are refused, and then nothing is kept.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), PullError> {
        let have = self.have.saturating_add(bytes.len() as u64);
        if have > self.to_be.bytes {
            self.restart()?;
            return Err(PullError::Length {
                expected: self.to_be.bytes,
                got: have,
                what: self.to_be.what.clone(),
            });
        }
        let written = self.file.write_all(bytes);
        written.map_err(|fault| ModelStoreError::io(&self.path, fault))?;
        self.have = have;
        Ok(())
    }

    /// Checks the bytes against the hash that the hub named, if any.
    pub(super) fn check_sha256(&self, got: &str) -> Result<(), PullError> {
        match &self.to_be.sha256 {
            Some(expected) if expected != got => Err(PullError::Sha256 {
                expected: expected.clone(),
                got: got.to_owned(),
                what: self.to_be.what.clone(),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn what(&self) -> &str {
        &self.to_be.what
    }

    /// Ends it: what is left of it goes. The lock's own file stays, so that no process ever locks a file that is gone.
    pub(super) fn remove(self) {
        drop(fs::remove_file(&self.path));
        drop(fs::remove_file(&self.note));
        drop(self.lock);
    }
}

fn known(note: &Path) -> Option<Identity> {
    let mut text = String::new();
    let file = open_own(OpenOptions::new().read(true), note).ok()?;
    file.take(MAX_NOTE_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Bytes that stay free beside a model: the store of runs grows, too.
const MARGIN: u64 = 64 << 20;

/// Refuses what does not fit beside what is there.
///
/// # Errors
/// [`PullError::NoRoom`].
pub fn check_space(folder: &Path, bytes: u64) -> Result<(), PullError> {
    let needed = bytes.saturating_add(MARGIN);
    match free_bytes(folder) {
        Some(free) if free < needed => Err(PullError::NoRoom {
            free,
            needed,
            path: folder.to_owned(),
        }),
        _ => Ok(()),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_no_disk_is_refused_with_both_numbers() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_space(folder.path(), 1).is_ok());
        let refused = check_space(folder.path(), 1 << 62);
        if free_bytes(folder.path()).is_some() {
            let message = refused.unwrap_err().to_string();
            assert!(
                message.contains(&((1_u64 << 62) + MARGIN).to_string()),
                "{message}"
            );
        }
    }

    #[test]
    fn no_lock_is_taken_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let pulling = folder.path().join("pulling");
        drop(PullLock::take(&pulling, "k", "it").unwrap());
        let victim = folder.path().join("victim");
        fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, pulling.join("l.lock")).unwrap();
        assert!(PullLock::take(&pulling, "l", "it").is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"kept");
    }
}
