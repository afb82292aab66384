//! Operations that change a disk: each passes the gate first. Knows no plan.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileTimes};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, chownat, fchmod, fchown, mkdirat, openat, renameat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::copy::copy_content;
use super::folder::{hold, open_folder};
use super::found::Found;
use super::gate::{Gate, Op};
use super::watch::StopCheck;
use crate::tools::set_mode;

const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The operations of one gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ops<'g>(pub &'g dyn Gate);

impl Ops<'_> {
    /// Makes a file for its owner alone.
    pub(super) fn create(self, folder: impl AsFd, name: &OsStr) -> io::Result<File> {
        self.0.pass(Op::Create)?;
        let file = openat(folder, name, NEW_FILE, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(file))
    }

    /// Makes a folder for its owner alone.
    pub(super) fn create_folder(self, folder: impl AsFd, name: &OsStr) -> io::Result<()> {
        self.0.pass(Op::Create)?;
        Ok(mkdirat(folder, name, Mode::RWXU)?)
    }

    /// Makes a link.
    pub(super) fn create_link(
        self,
        folder: impl AsFd,
        name: &OsStr,
        target: &OsStr,
    ) -> io::Result<()> {
        self.0.pass(Op::Create)?;
        Ok(symlinkat(target, folder, name)?)
    }

    /// Writes a record.
    pub(super) fn write(self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.0.pass(Op::Write)?;
        file.write_all(bytes)
    }

    /// Copies a content into an empty file.
    pub(super) fn copy(self, from: &File, to: &File) -> io::Result<()> {
        self.0.pass(Op::Copy)?;
        copy_content(from, to, StopCheck::NEVER)
    }

    /// Sets the mode of a folder.
    pub(super) fn set_mode(self, folder: impl AsFd, name: &OsStr, mode: u32) -> io::Result<()> {
        self.0.pass(Op::Mark)?;
        let held = hold(folder, name)?;
        Ok(set_mode(held.as_fd(), mode_of(mode))?)
    }

    /// Gives an open file its owner, as root, and its group. It clears set-id bits and capabilities, so both are set afterwards.
    pub(super) fn set_owner(self, file: impl AsFd, owner: &Found) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
        if is_root() {
            self.0.pass(Op::Mark)?;
            return Ok(fchown(file, Some(uid), Some(gid))?);
        }
        if Found::of_open(&file)?.gid == owner.gid {
            return Ok(());
        }
        self.0.pass(Op::Mark)?;
        match fchown(file, None, Some(gid)) {
            // Only a member of the group may give it.
            Err(Errno::PERM) => Ok(()),
            set => Ok(set?),
        }
    }

    /// Sets the mode of an open file or folder, after its attributes: an access list changes it.
    pub(super) fn set_open_mode(self, file: impl AsFd, mode: u32) -> io::Result<()> {
        self.0.pass(Op::Mark)?;
        Ok(fchmod(file, mode_of(mode))?)
    }

    /// Gives a link its owner, as root.
    pub(super) fn set_link_owner(
        self,
        folder: impl AsFd,
        name: &OsStr,
        owner: &Found,
    ) -> io::Result<()> {
        if !is_root() {
            return Ok(());
        }
        self.0.pass(Op::Mark)?;
        let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(chownat(folder, name, Some(uid), Some(gid), flags)?)
    }

    /// Gives an open file the time of the last change of another one's content.
    pub(super) fn set_modified(self, file: &File, like: &Found) -> io::Result<()> {
        self.0.pass(Op::Mark)?;
        match system_time(like.modified) {
            Some(time) => file.set_times(FileTimes::new().set_modified(time)),
            None => Ok(()),
        }
    }

    /// Renames to a name that nothing has.
    pub(super) fn rename(
        self,
        from: (BorrowedFd<'_>, &OsStr),
        to: (BorrowedFd<'_>, &OsStr),
    ) -> io::Result<()> {
        self.0.pass(Op::Rename)?;
        match rename_new(from, to) {
            // The file system cannot refuse by itself.
            Err(fault) if is_missing(fault) => match Found::at(to.0, to.1)? {
                Some(_) => Err(Errno::EXIST.into()),
                None => Ok(renameat(from.0, from.1, to.0, to.1)?),
            },
            renamed => Ok(renamed?),
        }
    }

    /// Renames over whatever has the name.
    pub(super) fn replace(
        self,
        folder: BorrowedFd<'_>,
        from: &OsStr,
        to: &OsStr,
    ) -> io::Result<()> {
        self.0.pass(Op::Rename)?;
        Ok(renameat(folder, from, folder, to)?)
    }

    /// Exchanges two names at once; false if the file system cannot.
    pub(super) fn exchange(
        self,
        one: (BorrowedFd<'_>, &OsStr),
        other: (BorrowedFd<'_>, &OsStr),
    ) -> io::Result<bool> {
        self.0.pass(Op::Rename)?;
        if !self.0.exchanges() {
            return Ok(false);
        }
        match exchange(one, other) {
            Err(fault) if is_missing(fault) => Ok(false),
            exchanged => Ok(exchanged.map(|()| true)?),
        }
    }

    /// Removes a file or a link.
    pub(super) fn remove(self, folder: impl AsFd, name: &OsStr) -> io::Result<()> {
        self.0.pass(Op::Remove)?;
        Ok(unlinkat(folder, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(self, folder: impl AsFd, name: &OsStr) -> io::Result<()> {
        self.0.pass(Op::Remove)?;
        Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
    }

    /// Waits until the disk has a file.
    pub(super) fn sync(self, file: &File) -> io::Result<()> {
        self.0.pass(Op::Sync)?;
        if self.0.syncs() {
            file.sync_all()?;
        }
        Ok(())
    }

    /// Waits until the disk has the names in a folder.
    pub(super) fn sync_folder(self, folder: impl AsFd) -> io::Result<()> {
        let folder = File::from(open_folder(folder, OsStr::new("."))?);
        self.sync(&folder)
    }

    /// Waits until the disk has the names in a folder, and those in so many folders above it: they may be new.
    pub(super) fn sync_path(self, folder: impl AsFd, above: usize) -> io::Result<()> {
        self.sync_folder(&folder)?;
        let mut name = OsString::from("..");
        for _ in 0..above {
            match open_folder(&folder, &name) {
                // Only a folder that can be read is synced.
                Err(Errno::ACCESS) => {}
                opened => self.sync(&File::from(opened?))?,
            }
            name.push("/..");
        }
        Ok(())
    }
}

/// True if this process may give files to other users.
pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

/// The bits as this system's type has them.
fn mode_of(mode: u32) -> Mode {
    fn bits<T: TryFrom<u32> + Default>(mode: u32) -> T {
        T::try_from(mode).unwrap_or_default()
    }
    Mode::from_raw_mode(bits(mode))
}

fn system_time((seconds, nanos): (i64, i64)) -> Option<SystemTime> {
    let nanos = Duration::from_nanos(u64::try_from(nanos).ok()?);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        UNIX_EPOCH.checked_sub(whole)
    } else {
        UNIX_EPOCH.checked_add(whole)
    };
    time?.checked_add(nanos)
}

/// True if the file system lacks the form of rename.
fn is_missing(fault: Errno) -> bool {
    matches!(fault, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_new(
    from: (BorrowedFd<'_>, &OsStr),
    to: (BorrowedFd<'_>, &OsStr),
) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_new(
    _from: (BorrowedFd<'_>, &OsStr),
    _to: (BorrowedFd<'_>, &OsStr),
) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(
    one: (BorrowedFd<'_>, &OsStr),
    other: (BorrowedFd<'_>, &OsStr),
) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(one.0, one.1, other.0, other.1, RenameFlags::EXCHANGE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(
    _one: (BorrowedFd<'_>, &OsStr),
    _other: (BorrowedFd<'_>, &OsStr),
) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}
