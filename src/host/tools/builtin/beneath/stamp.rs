//! Evidence that a file was written since: its identity, size and times. Does not read it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, Stat, openat, statat};
use rustix::io::Errno;

use super::{Beneath, HELD, OpenError, id_of};
use crate::tools::withheld_files::FileId;

/// Minimum age of a file's last change so that its times reveal the next change. A change within one tick of the file system's
/// clock leaves the times as they are. A tick is at most 10 ms where times have fractions of a second, and 2 s elsewhere.
const SETTLED: Duration = Duration::from_millis(100);
const SETTLED_COARSE: Duration = Duration::from_secs(5);

/// The metadata that every write to a file changes. Only the system sets the time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tools::builtin) struct Stamp {
    bytes: u64,
    changed: (i64, i64),
    id: FileId,
    modified: (i64, i64),
}

impl Stamp {
    pub(in crate::tools::builtin) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if any write after that moment gives the file another stamp.
    pub(in crate::tools::builtin) fn is_settled(&self, at: SystemTime) -> bool {
        is_settled(self.changed, self.modified, at)
    }

    fn of(found: &Stat) -> Self {
        // The types of these fields differ between systems.
        let nanos = |given| i64::try_from(given).unwrap_or_default();
        Self {
            bytes: found.st_size.try_into().unwrap_or_default(),
            changed: (found.st_ctime, nanos(found.st_ctime_nsec)),
            id: id_of(found),
            modified: (found.st_mtime, nanos(found.st_mtime_nsec)),
        }
    }
}

/// True if any write after that moment changes the times of a file: seconds and nanoseconds of its last change, and of its content's.
pub(crate) fn is_settled(changed: (i64, i64), modified: (i64, i64), at: SystemTime) -> bool {
    let within = if changed.1 == 0 || modified.1 == 0 {
        SETTLED_COARSE
    } else {
        SETTLED
    };
    let (Ok(seconds), Ok(nanos)) = (changed.0.try_into(), changed.1.try_into()) else {
        return false;
    };
    let changed = UNIX_EPOCH.checked_add(Duration::new(seconds, nanos));
    let age = changed.and_then(|changed| at.duration_since(changed).ok());
    age.is_some_and(|age| age >= within)
}

/// Looks at files one after the other; the folder of the last one is held.
pub(in crate::tools::builtin) struct Stamps<'b> {
    beneath: &'b Beneath,
    last: Option<(PathBuf, OwnedFd)>,
}

impl<'b> Stamps<'b> {
    pub(in crate::tools::builtin) const fn of(beneath: &'b Beneath) -> Self {
        Self {
            beneath,
            last: None,
        }
    }

    /// The stamp of the regular file at that path; `None` if there is none, or a link.
    pub(in crate::tools::builtin) fn at(
        &mut self,
        path: &Path,
    ) -> Result<Option<Stamp>, OpenError> {
        let Some(name) = path.file_name() else {
            return Ok(None);
        };
        let above = path.parent().unwrap_or(Path::new(""));
        let folder = match self.last.take() {
            Some((at, folder)) if at == above => folder,
            _ => match self.beneath.folder(above) {
                Err(OpenError::Io(fault)) if is_gone(&fault) => return Ok(None),
                folder => folder?,
            },
        };
        let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        self.last = Some((above.to_owned(), folder));
        match found {
            Ok(found) => {
                let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
                Ok(is_file.then(|| Stamp::of(&found)))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(fault) => Err(fault.into()),
        }
    }
}

fn is_gone(fault: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(fault.kind(), NotFound | NotADirectory)
}

impl Beneath {
    /// The folder at that path, held.
    fn folder(&self, path: &Path) -> Result<OwnedFd, OpenError> {
        let mut walk = self.walk(path)?;
        walk.steps.push_back(".".into());
        let _folder = walk.judged_last()?;
        Ok(openat(walk.here().as_fd(), ".", HELD, Mode::empty())?)
    }
}
