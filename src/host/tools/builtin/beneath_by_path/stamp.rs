//! Evidence that a file was written since, where systems have no more than its size and time. Does not read it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Beneath, OpenError};

/// The metadata that every write to a file changes, as far as this system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tools::builtin) struct Stamp {
    bytes: u64,
    modified: SystemTime,
}

impl Stamp {
    pub(in crate::tools::builtin) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if any write after that moment gives the file another stamp.
    pub(in crate::tools::builtin) fn is_settled(&self, at: SystemTime) -> bool {
        let age = at.duration_since(self.modified);
        age.is_ok_and(|age| age >= Duration::from_secs(5))
    }
}

/// Looks at files one after the other.
pub(in crate::tools::builtin) struct Stamps<'b>(&'b Beneath);

impl<'b> Stamps<'b> {
    pub(in crate::tools::builtin) const fn of(beneath: &'b Beneath) -> Self {
        Self(beneath)
    }

    /// The stamp of the regular file at that path; `None` if there is none, or a link.
    pub(in crate::tools::builtin) fn at(
        &mut self,
        path: &Path,
    ) -> Result<Option<Stamp>, OpenError> {
        let found = match fs::symlink_metadata(self.0.root.join(path)) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let bytes = found.len();
        let modified = found.modified()?;
        Ok(found.is_file().then_some(Stamp { bytes, modified }))
    }
}
