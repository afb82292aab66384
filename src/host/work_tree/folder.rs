//! Opens folders below a root, step by step and through no link. Changes nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use monolith_core::message::Digest;
use monolith_core::work::{TreeNode, WorkPath};
use rustix::fs::{Dir, Mode, OFlags, open, openat, readlinkat};
use rustix::io::Errno;

use super::error::WorkTreeError;
use super::found::{Found, Kind};
use super::watch::{StopCheck, is_stop};

/// Folders are held for what lies below them; that needs no right to read them.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HELD: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HELD: OFlags = READ_FOLDER;
const READ_FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// A pipe is not waited for, and a terminal not taken.
const READ_FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// Bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;

/// Opens a folder by its resolved path.
pub(super) fn open_root(path: &Path) -> rustix::io::Result<OwnedFd> {
    open(path, READ_FOLDER, Mode::empty())
}

/// Holds a folder in another one.
pub(super) fn hold(parent: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    openat(parent, name, HELD, Mode::empty())
}

/// Opens a folder in another one, to list or sync it.
pub(super) fn open_folder(parent: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    openat(parent, name, READ_FOLDER, Mode::empty())
}

/// Holds the folder of a path below the root; the root itself for a name there.
pub(super) fn parent_of(root: impl AsFd, path: &WorkPath) -> rustix::io::Result<(OwnedFd, &OsStr)> {
    let mut folder = hold(root, OsStr::new("."))?;
    let mut names = path.as_bytes().split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        let name = OsStr::from_bytes(name);
        if names.peek().is_none() {
            return Ok((folder, name));
        }
        folder = hold(&folder, name)?;
    }
    Err(Errno::INVAL)
}

/// Looks at a path below the root; `None` if it or a folder on the way is missing.
pub(super) fn look(root: impl AsFd, path: &WorkPath) -> rustix::io::Result<Option<Found>> {
    match parent_of(root, path) {
        Ok((folder, name)) => Found::at(folder.as_fd(), name),
        // A link or a file has replaced a folder.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Opens a regular file in a folder for reading. Anything else is `INVAL`.
pub(super) fn open_file(folder: impl AsFd, name: &OsStr) -> rustix::io::Result<File> {
    let file = openat(folder, name, READ_FILE, Mode::empty())?;
    match Found::of_open(&file)?.kind {
        Kind::File => Ok(File::from(file)),
        _ => Err(Errno::INVAL),
    }
}

/// The bytes of a link's target.
pub(super) fn link_target(folder: impl AsFd, name: &OsStr) -> rustix::io::Result<OsString> {
    let target = readlinkat(folder, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// The names in an open folder, in no order.
pub(super) fn names(folder: impl AsFd) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Hashes the rest of an open file.
pub(super) fn hash_of(mut file: &File, check: StopCheck<'_>) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    let mut done = 0;
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let bytes = match file.read(&mut buffer) {
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match buffer.get(..bytes) {
            None | Some([]) => break,
            Some(read) => hasher.update(read),
        };
        check.add(&mut done, bytes)?;
    }
    Ok(Digest::from_bytes(*hasher.finalize().as_bytes()))
}

/// Reads a path below the root as a node of a tree, its content included; `None` if it is missing.
pub(super) fn read_node(
    root: impl AsFd,
    path: &WorkPath,
) -> Result<Option<Present>, WorkTreeError> {
    let refuse = |fault: Errno| io_error(path, fault);
    let (folder, name) = match parent_of(root, path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        parent => parent.map_err(refuse)?,
    };
    let Some(found) = Found::at(folder.as_fd(), name).map_err(refuse)? else {
        return Ok(None);
    };
    let node = match found.kind {
        Kind::Folder => TreeNode::Folder { mode: found.mode },
        Kind::Link => {
            let target = link_target(&folder, name).map_err(|fault| open_error(path, fault))?;
            let target = Digest::of(target.as_bytes());
            TreeNode::Link { target }
        }
        Kind::File => {
            let file = open_file(&folder, name).map_err(|fault| open_error(path, fault))?;
            let content =
                hash_of(&file, StopCheck::NEVER).map_err(|fault| io_error(path, fault))?;
            let after = Found::of_open(&file).map_err(refuse)?;
            if !after.is_untouched_since(&found) {
                return Err(WorkTreeError::Moved { path: path.clone() });
            }
            TreeNode::File {
                content,
                mode: found.mode,
                size: found.bytes,
            }
        }
        Kind::Other => return Err(special(path)),
    };
    Ok(Some(Present { found, node }))
}

/// A path as it is now.
#[derive(Debug)]
pub(super) struct Present {
    pub found: Found,
    pub node: TreeNode,
}

/// The error of an operation at a path.
pub(super) fn io_error(path: &WorkPath, fault: impl Into<io::Error>) -> WorkTreeError {
    let fault = fault.into();
    if is_stop(&fault) {
        return WorkTreeError::Stopped;
    }
    WorkTreeError::Io {
        path: path.to_string(),
        fault,
    }
}

/// The error of opening a path that was there a moment ago: something else may have removed it, or put another kind in its place.
pub(super) fn open_error(path: &WorkPath, fault: Errno) -> WorkTreeError {
    match fault {
        Errno::INVAL | Errno::ISDIR | Errno::LOOP | Errno::NOENT | Errno::NOTDIR | Errno::NXIO => {
            WorkTreeError::Moved { path: path.clone() }
        }
        Errno::ACCESS => WorkTreeError::Refused {
            path: path.clone(),
            reason: "this user may not read it; make it readable, or exclude it".to_owned(),
        },
        fault => io_error(path, fault),
    }
}

/// The error of an operation at a place outside the tree, or at its root.
pub(super) fn place_error(path: &Path, fault: impl Into<io::Error>) -> WorkTreeError {
    WorkTreeError::Io {
        path: path.display().to_string(),
        fault: fault.into(),
    }
}

/// Refuses what is neither a file nor a folder nor a link.
pub(super) fn special(path: &WorkPath) -> WorkTreeError {
    WorkTreeError::Refused {
        path: path.clone(),
        reason: "it is a pipe, a socket or a device; remove it, or exclude it".to_owned(),
    }
}
