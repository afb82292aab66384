//! Access by permissions: the one that is missing, and whether a file may be written. Does not know paths.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{Access, AtFlags, Mode, Stat, accessat, fstat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The error of a step; a denied one names the permission, and the entry that lacks it with its mode.
pub(super) fn denied(fault: Errno, permission: &str, of: &str, found: Option<&Stat>) -> io::Error {
    if fault != Errno::ACCESS {
        return fault.into();
    }
    let mode = found.map_or_else(String::new, mode);
    let words = format!("no {permission} permission on {of}{mode}");
    io::Error::new(io::ErrorKind::PermissionDenied, words)
}

/// The error of a change to the entries of an open folder.
pub(super) fn denied_in(fault: Errno, folder: BorrowedFd<'_>) -> io::Error {
    denied(fault, "write", "its folder", fstat(folder).ok().as_ref())
}

fn mode(found: &Stat) -> String {
    let (mode, owner) = (found.st_mode & 0o7777, found.st_uid);
    format!(" (mode {mode:04o}, owner {owner})")
}

/// Checks that entries of an open folder may be made and removed.
pub(super) fn may_change_entries(folder: BorrowedFd<'_>) -> io::Result<()> {
    let access = Access::WRITE_OK.union(Access::EXEC_OK);
    match accessat(folder, ".", access, AtFlags::EACCESS) {
        Err(fault @ Errno::ACCESS) => Err(denied_in(fault, folder)),
        _ => Ok(()),
    }
}

/// Checks that a shell could write the file. A file is replaced by a new one, so the system itself would ask for the rights of its folder
/// alone. It lets root write everything: for root the mode's bit for the owner decides.
pub(super) fn may_write(folder: BorrowedFd<'_>, name: &OsStr, found: &Stat) -> io::Result<()> {
    let owner_writes = Mode::from_raw_mode(found.st_mode).contains(Mode::WUSR);
    match accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(fault @ Errno::ACCESS) => {
            let fault = denied(fault, "write", "it", Some(found));
            Err(io::Error::new(
                fault.kind(),
                format!("{fault}; change its mode first"),
            ))
        }
        Err(fault @ Errno::ROFS) => Err(fault.into()),
        _ if !owner_writes && geteuid().is_root() => {
            let fault = denied(Errno::ACCESS, "write", "it", Some(found));
            let words = format!(
                "{fault}; the system lets root write it, but the file's mode decides here: change its mode first"
            );
            Err(io::Error::new(fault.kind(), words))
        }
        _ => Ok(()),
    }
}
