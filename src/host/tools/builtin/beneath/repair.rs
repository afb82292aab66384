//! Repairs of a repository: an entry is removed, or gets its earlier content back. Opens nothing through a link. Does not know why.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, mkdirat, openat, statat,
    symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::opened::{CHANGE, Opened};
use super::repositories::GuardedItem;
use super::{Beneath, entries_of, id_of};
use crate::tools::withheld::{Withheld, WithheldIds};

/// The deepest folder that is removed.
const MOST_DEPTH: usize = 128;

impl Beneath {
    /// Makes an entry of a repository what it was.
    ///
    /// # Errors
    /// If its folder is gone, or the system refuses it.
    pub(in crate::tools::builtin) fn put_back(
        &self,
        path: &Path,
        item: &GuardedItem,
    ) -> io::Result<()> {
        let (folder, name) = self.place_of(path)?;
        match item {
            GuardedItem::Folder => {
                if kind_of(folder.as_fd(), name)? != Some(FileType::Directory) {
                    self.remove_all(folder.as_fd(), name)?;
                    let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
                    mkdirat(&folder, name, mode)?;
                }
                Ok(())
            }
            GuardedItem::File {
                content: Some(content),
                mode,
                owner,
                ..
            } => {
                self.remove_all(folder.as_fd(), name)?;
                let flags = OFlags::WRONLY
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
                // Only root may hand a file to another user.
                let _kept = fchown(
                    &file,
                    Some(Uid::from_raw(owner.0)),
                    Some(Gid::from_raw(owner.1)),
                );
                fchmod(&file, *mode)?;
                File::from(file).write_all(content)
            }
            GuardedItem::Link(target) => {
                self.remove_all(folder.as_fd(), name)?;
                Ok(symlinkat(target, &folder, name)?)
            }
            GuardedItem::File { .. } | GuardedItem::Other => {
                Err(io::Error::other("it was not kept"))
            }
        }
    }

    /// Removes an entry of a repository, with everything below it.
    ///
    /// # Errors
    /// The error of the system.
    pub(in crate::tools::builtin) fn remove_guarded(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.place_of(path)?;
        Ok(self.remove_all(folder.as_fd(), name)?)
    }

    fn place_of<'p>(&self, path: &'p Path) -> io::Result<(Opened, &'p OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let folder = self.opened(path.parent().unwrap_or(Path::new("")), CHANGE)?;
        Ok((folder, name))
    }

    /// Removes an entry, with everything below it. A missing entry is no error; an entry that is withheld or guarded stays.
    fn remove_all(&self, folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
        remove(folder, name, (&self.withheld, &self.withheld.ids()), 0)
    }
}

fn kind_of(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<FileType>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

fn remove(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    (withheld, ids): (&Withheld, &WithheldIds),
    depth: usize,
) -> rustix::io::Result<()> {
    let found = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        found => found?,
    };
    let id = id_of(&found);
    if ids.has(id) || withheld.guards(id_of(&fstat(folder)?), name, &[id]) {
        return Err(Errno::PERM);
    }
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return unlinkat(folder, name, AtFlags::empty());
    }
    if depth >= MOST_DEPTH {
        return Err(Errno::MLINK);
    }
    let below = Opened::at(folder, name, CHANGE)?;
    for entry in entries_of(below.as_fd())? {
        let entry = entry.map_err(|_| Errno::IO)?;
        remove(below.as_fd(), &entry.name, (withheld, ids), depth + 1)?;
    }
    unlinkat(folder, name, AtFlags::REMOVEDIR)
}
