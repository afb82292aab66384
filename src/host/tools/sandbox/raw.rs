//! The four system interfaces that no safe binding offers. Does not know what they are used for.
#![expect(
    unsafe_code,
    reason = "rustix marks unshare unsafe for CLONE_FILES and has neither mount_setattr nor close_range; an inherited descriptor can only be taken by its number"
)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::mount::MountAttrFlags;
use rustix::thread::UnshareFlags;

/// unshare(2). Not for `CLONE_FILES`, which nothing here asks for; this process has one thread.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    let flags = flags.difference(UnshareFlags::FILES);
    // SAFETY: only CLONE_FILES could take descriptors from under another thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    Ok(())
}

/// Takes over a descriptor that this process was started with.
///
/// # Errors
/// Where there is none of that number.
pub(super) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: borrowed for one call, which fails where it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number.max(3)) };
    rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and the process that started this one handed it over for this alone.
    Ok(unsafe { OwnedFd::from_raw_fd(number.max(3)) })
}

/// linux/close_range.h: the descriptors are closed when a program is started.
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 1 << 2;

/// A program that is started from now on gets the three standard descriptors, and none of what this process was started with. Whatever a
/// folder's descriptor leads to would be there for it, past every mount.
pub(super) fn hand_nothing_down() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: nothing is closed here, and no memory is handed over.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            CLOSE_RANGE_CLOEXEC,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `struct mount_attr` of linux/mount.h.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    users: u64,
}

/// linux/fcntl.h
const AT_RECURSIVE: libc::c_int = 0x8000;

/// Sets attributes of a detached tree of mounts; with `users` its ids are seen through that user namespace.
pub(super) fn set_mount(
    tree: BorrowedFd<'_>,
    set: MountAttrFlags,
    users: Option<BorrowedFd<'_>>,
    recursive: bool,
) -> io::Result<()> {
    let idmap = users.map_or(MountAttrFlags::empty(), |_| {
        MountAttrFlags::MOUNT_ATTR_IDMAP
    });
    let attributes = MountAttributes {
        set: u64::from(set.union(idmap).bits()),
        clear: 0,
        propagation: 0,
        users: users.map_or(0, |users| u64::try_from(users.as_raw_fd()).unwrap_or(0)),
    };
    let recursive = if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, and the structure lives through the call and has the size that is named.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
