//! Gives files of a workspace back what they held before a run. Opens them as the built-in tools do, and knows neither runs nor the store.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::beneath::{Beneath, OpenError};
use super::change_log::FILE_BYTES;
use super::workspace::{missed, stays_inside};
use crate::tools::withheld::Withheld;
use monolith_core::message::Digest;

/// The permissions of a restored file whose own were not kept: not wider than they were.
const OWNER_ONLY: u16 = 0o600;

/// A folder whose files are given back what they held.
#[derive(Debug)]
pub struct RestoredFolder(Beneath);

/// The outcome of restoring a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It holds what it held before.
    Done,
    /// It was there only since, and is there no longer.
    Removed,
    /// It is as it was before: there was nothing to do.
    AsBefore,
    /// It holds neither what it held before nor what the run left: something else has changed it since.
    ChangedSince,
    /// The old content was not kept.
    NotKept,
    /// It cannot be opened or written.
    Refused(String),
}

impl RestoredFolder {
    /// Opens the folder, a resolved path.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(root: PathBuf, withheld: Withheld) -> io::Result<Self> {
        Ok(Self(Beneath::open(root, withheld)?))
    }

    /// Gives one file back what it held, where it is as `after` says; `content` finds what has a hash. A file that was removed has the
    /// permissions `mode` again; where they were not kept, its owner alone may read it. With `look` nothing is changed.
    pub fn restore(
        &self,
        path: &str,
        (before, after): (Option<Digest>, Option<Digest>),
        content: impl FnOnce(Digest) -> io::Result<Option<Vec<u8>>>,
        mode: Option<u16>,
        look: bool,
    ) -> Restored {
        let refuse = |fault: OpenError| Restored::Refused(missed(path, fault).message);
        let file = Path::new(path);
        if !stays_inside(file) {
            return refuse(OpenError::Outside);
        }
        let now = match self.digest_of(file) {
            Ok(now) => now,
            Err(fault) => return refuse(fault),
        };
        if now == before {
            return Restored::AsBefore;
        }
        if now != after {
            return Restored::ChangedSince;
        }
        let Some(before) = before else {
            if let Err(fault) = self.0.is_removable(file) {
                return refuse(fault);
            }
            if !look && let Err(fault) = self.0.remove(file) {
                return refuse(fault);
            }
            return Restored::Removed;
        };
        let content = match content(before) {
            Ok(Some(content)) => content,
            Ok(None) => return Restored::NotKept,
            Err(fault) => return Restored::Refused(fault.to_string()),
        };
        if let Err(fault) = self.0.stands(file) {
            return refuse(fault);
        }
        if !look && let Err(fault) = self.0.put_again(file, &content, mode.unwrap_or(OWNER_ONLY)) {
            return refuse(fault);
        }
        Restored::Done
    }

    /// The hash of what a file holds; `None` if it is not there. One that is larger than tools write is as no run left it.
    fn digest_of(&self, path: &Path) -> Result<Option<Digest>, OpenError> {
        let file = match self.0.file(path) {
            Err(OpenError::Io(fault)) if fault.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            opened => opened?,
        };
        let most = u64::try_from(FILE_BYTES).unwrap_or(u64::MAX);
        let mut content = Vec::new();
        file.take(most.saturating_add(1))
            .read_to_end(&mut content)?;
        Ok(Some(Digest::of(&content)))
    }
}
