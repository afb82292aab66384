//! The metadata of one path: its kind, mode, owner, identity and times. Reads no content.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, Stat, fstat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::tools::is_settled;

/// Device and inode.
pub(super) type FileId = (u64, u64);

/// The kind of a path itself; a link is never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// The metadata of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Found {
    /// Bytes on the disk: fewer than `bytes` for a sparse file.
    pub allocated: u64,
    pub bytes: u64,
    /// Time of the last change of content or metadata. Only the system sets it.
    pub changed: (i64, i64),
    pub gid: u32,
    pub id: FileId,
    pub kind: Kind,
    /// Permissions and set-id bits.
    pub mode: u32,
    pub modified: (i64, i64),
    pub uid: u32,
}

impl Found {
    /// The metadata of a name in an open folder; `None` if nothing has the name.
    pub(super) fn at(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Option<Self>> {
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Self::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The metadata of an open file or folder.
    pub(super) fn of_open(open: impl AsFd) -> rustix::io::Result<Self> {
        Ok(Self::of(&fstat(open)?))
    }

    fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let mode = narrow(Mode::from_raw_mode(stat.st_mode).as_raw_mode());
        let mode = mode & monolith_core::work::MODE_BITS;
        Self {
            allocated: unsigned(stat.st_blocks).saturating_mul(512),
            bytes: unsigned(stat.st_size),
            changed: (signed(stat.st_ctime), signed(stat.st_ctime_nsec)),
            gid: narrow(stat.st_gid),
            id: (unsigned(stat.st_dev), unsigned(stat.st_ino)),
            kind,
            mode,
            modified: (signed(stat.st_mtime), signed(stat.st_mtime_nsec)),
            uid: narrow(stat.st_uid),
        }
    }

    /// True if content, mode and owner of a file or link are those of an earlier look at this or another name of it, as far as size and time
    /// tell. A rename keeps all of them.
    pub(super) fn is_like(&self, earlier: &Self) -> bool {
        let owner = |found: &Self| (found.uid, found.gid);
        let facts = |found: &Self| (found.kind, found.bytes, found.modified, found.mode);
        facts(self) == facts(earlier) && owner(self) == owner(earlier)
    }

    /// True for the same file or folder of one file system. Its device may have another number once the system has started again.
    pub(super) const fn is_same_file(&self, other: &Self) -> bool {
        self.id.1 == other.id.1
    }

    /// True if any write after that moment changes the file's times.
    pub(super) fn is_settled(&self, at: SystemTime) -> bool {
        is_settled(self.changed, self.modified, at)
    }

    /// True if nothing wrote the file since an earlier look at it.
    pub(super) fn is_untouched_since(&self, earlier: &Self) -> bool {
        let all = |found: &Self| (found.bytes, found.modified, found.changed);
        self.is_same_file(earlier) && all(self) == all(earlier)
    }
}

// The types of these fields differ between systems.

fn unsigned(field: impl Into<i128>) -> u64 {
    u64::try_from(field.into()).unwrap_or_default()
}

fn signed(field: impl Into<i128>) -> i64 {
    i64::try_from(field.into()).unwrap_or_default()
}

fn narrow(field: impl Into<i128>) -> u32 {
    u32::try_from(field.into()).unwrap_or_default()
}
