//! Folders that the held folder contains, opened through no link even if a command took away their rights. Does not know repositories.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, fstat, openat};
use rustix::io::Errno;

use super::{Beneath, HELD, READ};

/// Rights that reading a folder needs.
pub(super) const LOOK: Access = Access::READ_OK.union(Access::EXEC_OK);
/// Rights that changing the entries of a folder needs.
pub(super) const CHANGE: Access = LOOK.union(Access::WRITE_OK);

/// An open folder. Its owner has the rights that the opener asked for; drop restores the mode.
#[derive(Debug)]
pub(super) struct Opened {
    folder: OwnedFd,
    mode: Option<Mode>,
}

impl AsFd for Opened {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            let _gone = set_mode(self.folder.as_fd(), mode);
        }
    }
}

impl Opened {
    fn with(folder: OwnedFd, access: Access) -> rustix::io::Result<Self> {
        let is_closed = accessat(&folder, ".", access, AtFlags::EACCESS) == Err(Errno::ACCESS);
        let mode = if is_closed {
            Some(unlock(folder.as_fd())?)
        } else {
            None
        };
        Ok(Self { folder, mode })
    }

    /// Opens a folder by its name in another one.
    pub(super) fn at(
        parent: BorrowedFd<'_>,
        name: &OsStr,
        access: Access,
    ) -> rustix::io::Result<Self> {
        let flags = HELD.union(OFlags::NOFOLLOW);
        Self::with(openat(parent, name, flags, Mode::empty())?, access)
    }
}

impl Beneath {
    /// Opens the folder at that path, which no link leads through.
    pub(super) fn opened(&self, path: &Path, access: Access) -> rustix::io::Result<Opened> {
        let held = self.folder.try_clone().map_err(|_| Errno::MFILE)?;
        let mut folder = Opened::with(held, access)?;
        for step in path.components() {
            folder = match step {
                Component::CurDir => continue,
                Component::Normal(name) => Opened::at(folder.as_fd(), name, access)?,
                _ => return Err(Errno::INVAL),
            };
        }
        Ok(folder)
    }
}

/// Opens a regular file, even if its owner may not read it.
pub(super) fn readable(folder: BorrowedFd<'_>, name: &OsStr) -> Option<File> {
    let opened = match openat(folder, name, READ, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let held = HELD.difference(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);
            let held = openat(folder, name, held, Mode::empty()).ok()?;
            let mode = unlock(held.as_fd()).ok()?;
            let opened = openat(folder, name, READ, Mode::empty());
            let _gone = set_mode(held.as_fd(), mode);
            opened
        }
        opened => opened,
    };
    opened.ok().map(File::from)
}

/// Gives the owner every right; returns the mode of before. Fails with `ACCESS` for an entry of another owner.
fn unlock(entry: BorrowedFd<'_>) -> rustix::io::Result<Mode> {
    let mode = Mode::from_raw_mode(fstat(entry)?.st_mode);
    set_mode(entry, mode.union(Mode::RWXU)).map_err(|_| Errno::ACCESS)?;
    Ok(mode)
}

/// Sets the mode of an entry that is held by its path, which `fchmod` refuses.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn set_mode(entry: BorrowedFd<'_>, mode: Mode) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;

    rustix::fs::chmod(format!("/proc/self/fd/{}", entry.as_raw_fd()), mode)
}

/// Sets the mode of an open entry.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn set_mode(entry: BorrowedFd<'_>, mode: Mode) -> rustix::io::Result<()> {
    rustix::fs::fchmod(entry, mode)
}
