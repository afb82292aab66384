//! A download that can be resumed. Does not know the hub's protocol.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{HubFile, ModelStoreError, PullError, PullLock};
use crate::store::{open_own, private_file, replace_own};
use monolith_core::message::Digest;

/// The longest note of a file that is not whole.
const MAX_NOTE_BYTES: u64 = 64 * 1024;

/// A file that is being fetched: the bytes that are here already, and a lock that keeps other processes from it.
///
/// It stays where the process dies, and the next one goes on from its end as long as the hub still has the same file.
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

/// What makes a file on a hub the same file.
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

    /// Whether the bytes are those that the hub named, where it named any.
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
