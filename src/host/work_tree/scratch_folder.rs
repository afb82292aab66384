//! The private folder on the file system of a work tree that holds its scratch trees and stages: next to the tree, or inside it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use monolith_core::work::{GIT_NAME, SCRATCH_NAME};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::WorkTreeError;
use super::folder::{names, open_file, open_folder, open_root, place_error};
use super::found::{Found, Kind};
use super::ops::Ops;
use super::removal::remove_tree;

/// The name of the folder. Scans leave it out wherever it is.
const NAME: &str = SCRATCH_NAME;
/// The name of a repository's folder, or of the file that leads to it.
const GIT: &str = GIT_NAME;
/// The ending of a stage's name.
pub(super) const STAGE: &str = ".stage";
/// The ending of a stage that holds old files whose place something else took during a roll-back.
pub(super) const KEPT: &str = ".kept";
/// The file that names the state folder which works on the tree. It is no id of a scratch tree.
pub(super) const OWNER: &str = ".owner";
/// The same while it is written.
pub(super) const NEW_OWNER: &str = ".owner.new";
/// Bytes of an owner's record that are read. A shorter one has room for any path.
pub(super) const OWNER_BYTES: u64 = 8 * 1024;
/// The bits of a mode that let others do anything.
const OTHERS: u32 = 0o077;
/// Maximum number of tries to make the folder next to a tree.
const TRIES: u32 = 4;
/// Longest id of a scratch tree.
const ID_BYTES: usize = 64;

/// True for names that are never part of a tree.
pub(super) fn is_left_out(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(GIT) || is_scratch(name)
}

/// True for the name of the folder itself.
pub(super) fn is_scratch(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(NAME)
}

fn is_stage(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(STAGE.as_bytes())
}

/// The folders of the trees that have a stage, by name: trees in an open folder, or that folder itself.
pub(super) fn trees_with_stages(above: BorrowedFd<'_>) -> rustix::io::Result<HashSet<OsString>> {
    let Some(shared) = readable(above, OsStr::new(NAME))? else {
        return Ok(HashSet::new());
    };
    let mut trees = HashSet::new();
    for tree in entries(&shared)? {
        if let Some(folder) = readable(shared.as_fd(), &tree)?
            && entries(&folder)?.iter().any(|name| is_stage(name))
        {
            trees.insert(tree);
        }
    }
    Ok(trees)
}

/// Opens a folder; `None` for another kind of path, and for a folder that another user keeps closed.
fn readable(above: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Option<OwnedFd>> {
    match open_folder(above, name) {
        Err(Errno::ACCESS | Errno::LOOP | Errno::NOENT | Errno::NOTDIR) => Ok(None),
        opened => opened.map(Some),
    }
}

/// The names in a folder, which its process may have removed meanwhile.
fn entries(folder: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    match names(folder) {
        Err(Errno::NOENT) => Ok(Vec::new()),
        listed => listed,
    }
}

/// The private folder of one work tree.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    /// The folder that holds `.monolith-scratch`.
    above: OwnedFd,
    folder: OwnedFd,
    /// True if the file system tells names apart that differ in case.
    pub has_case: bool,
    /// True if the folder lies in the work tree.
    pub is_inside: bool,
    /// Its resolved path.
    pub path: PathBuf,
    /// `.monolith-scratch`, which the trees next to this one share.
    shared: OwnedFd,
}

impl ScratchFolder {
    /// Opens the folder next to the work tree, or inside it if the parent cannot be written, is on another file system, or has a folder of
    /// that name that others can write.
    pub(super) fn make(root: &Path, tree: &Found) -> Result<Self, WorkTreeError> {
        for _ in 0..TRIES {
            if let Ok(Some(folder)) = Self::open(root, tree, false, true) {
                return Ok(folder);
            }
        }
        let folder = Self::open(root, tree, true, true);
        let folder = folder.map_err(|fault| unusable(root, &fault))?;
        folder.ok_or_else(|| place_error(root, Errno::NOENT))
    }

    /// The path of the folder, whether it is there or not.
    pub(super) fn place(root: &Path, tree: &Found, is_inside: bool) -> PathBuf {
        let above = if is_inside { Some(root) } else { root.parent() };
        let shared = above.unwrap_or(root).join(NAME);
        shared.join(inode_name(tree))
    }

    /// Opens the existing folders, next to the work tree and inside it.
    pub(super) fn existing(root: &Path, tree: &Found) -> Result<Vec<Self>, WorkTreeError> {
        let mut folders = Vec::new();
        for is_inside in [false, true] {
            match Self::open(root, tree, is_inside, false) {
                Ok(folder) => folders.extend(folder),
                // A folder next to the tree that this process may not use was not used before, either.
                Err(_) if !is_inside => {}
                Err(fault) => return Err(unusable(root, &fault)),
            }
        }
        Ok(folders)
    }

    /// `None` if it is not there, or cannot be there.
    fn open(
        root: &Path,
        tree: &Found,
        is_inside: bool,
        makes: bool,
    ) -> Result<Option<Self>, WorkTreeError> {
        let above = if is_inside { Some(root) } else { root.parent() };
        let Some(above) = above else {
            return Ok(None);
        };
        let path = above.join(NAME);
        let refuse = |fault: Errno| place_error(&path, fault);
        let held = open_root(above).map_err(refuse)?;
        if Found::of_open(&held).map_err(refuse)?.id.0 != tree.id.0 {
            return Ok(None);
        }
        let Some(shared) = own_folder(held.as_fd(), OsStr::new(NAME), makes).map_err(refuse)?
        else {
            return Ok(None);
        };
        let other_case = Found::at(held.as_fd(), OsStr::new(".MONOLITH-SCRATCH"));
        let name = inode_name(tree);
        let folder = match own_folder(shared.as_fd(), &name, makes) {
            // The process of another tree has removed it as empty.
            Err(Errno::NOENT) if makes => return Ok(None),
            folder => folder.map_err(refuse)?,
        };
        Ok(folder.map(|folder| Self {
            above: held,
            folder,
            has_case: matches!(other_case, Ok(None)),
            is_inside,
            path: path.join(&name),
            shared,
        }))
    }

    /// Removes the folder where nothing is in it any more.
    pub(super) fn remove_if_empty(&self) {
        if self.has_work().is_ok_and(|has_work| !has_work) {
            for name in [OWNER, NEW_OWNER] {
                let _left = unlinkat(&self.folder, name, AtFlags::empty());
            }
        }
        // A folder with anything in it stays, as the system sees to it.
        if let Some(name) = self.path.file_name()
            && unlinkat(&self.shared, name, AtFlags::REMOVEDIR).is_ok()
        {
            let _left = unlinkat(&self.above, NAME, AtFlags::REMOVEDIR);
        }
    }

    pub(super) fn at(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Removes the stages that killed processes left. Their publications have ended, or never began.
    pub(super) fn remove_stages(&self, ops: Ops<'_>) -> Result<(), WorkTreeError> {
        for name in self.names()? {
            if is_stage(&name) {
                let removed = remove_tree(ops, self.at(), &name);
                removed.map_err(|fault| place_error(&self.path.join(&name), fault))?;
            }
        }
        Ok(())
    }

    /// True if a stage or a scratch tree is in it: work that its state folder has to finish.
    pub(super) fn has_work(&self) -> Result<bool, WorkTreeError> {
        let is_work = |name: &OsString| {
            let is_kept = name.as_encoded_bytes().ends_with(KEPT.as_bytes());
            !is_kept && name != OWNER && name != NEW_OWNER
        };
        Ok(self.names()?.iter().any(is_work))
    }

    /// Reads the record of its owner; `None` if it has none. What is no regular file reads as an empty one.
    pub(super) fn owner(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match open_file(&self.folder, OsStr::new(OWNER)) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::INVAL | Errno::LOOP | Errno::NXIO) => return Ok(Some(Vec::new())),
            opened => opened?,
        };
        let mut record = Vec::new();
        file.take(OWNER_BYTES).read_to_end(&mut record)?;
        Ok(Some(record))
    }

    /// Writes the record of its owner, whole or not at all.
    pub(super) fn set_owner(&self, record: &[u8], syncs: bool) -> io::Result<()> {
        // A name that something else has, such as a pipe, is not opened.
        match unlinkat(&self.folder, NEW_OWNER, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(fault) => return Err(fault.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = openat(&self.folder, NEW_OWNER, flags | OFlags::CLOEXEC, mode)?;
        let mut file = File::from(file);
        file.write_all(record)?;
        if syncs {
            file.sync_all()?;
        }
        renameat(&self.folder, NEW_OWNER, &self.folder, OWNER)?;
        Ok(())
    }

    /// The names in it.
    pub(super) fn names(&self) -> Result<Vec<OsString>, WorkTreeError> {
        names(&self.folder).map_err(|fault| place_error(&self.path, fault))
    }
}

/// The error of a tree without a scratch folder.
fn unusable(root: &Path, fault: &WorkTreeError) -> WorkTreeError {
    WorkTreeError::Unfit {
        path: root.to_owned(),
        reason: format!(
            "its scratch folder cannot be used ({fault}); this user must be able to write the work tree or the folder above, and a folder {NAME} there must be this user's alone (mode 0700)"
        ),
    }
}

/// Opens a folder that is its owner's alone; `None` if it is missing and not to be made.
fn own_folder(above: BorrowedFd<'_>, name: &OsStr, makes: bool) -> Result<Option<OwnedFd>, Errno> {
    if makes {
        match mkdirat(above, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(fault) => return Err(fault),
        }
    }
    let folder = match open_folder(above, name) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    let found = Found::of_open(&folder)?;
    let is_own = found.uid == geteuid().as_raw();
    if found.kind == Kind::Folder && is_own && found.mode & OTHERS == 0 {
        Ok(Some(folder))
    } else {
        Err(Errno::PERM)
    }
}

/// The name of the folder of one tree. All trees of a shared folder are on its device, whose number may change when the system starts again.
pub(super) fn inode_name(tree: &Found) -> OsString {
    OsString::from(format!("{:x}", tree.id.1))
}

/// Refuses an id that is no file name.
pub(super) fn judge_id(id: &str) -> Result<(), WorkTreeError> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !id.is_empty() && id.len() <= ID_BYTES && id.bytes().all(is_letter) {
        return Ok(());
    }
    Err(WorkTreeError::InvalidId { id: id.to_owned() })
}
