//! Git repositories below the held folder, and what of them git runs or obeys: hooks and settings. Follows no link. Does not know tools.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, mkdirat, openat, readlinkat,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::{Beneath, HELD, READ, entries_of, id_of};
use crate::tools::builtin::entry::EntryKind;
use crate::tools::withheld_files::FileId;

/// The most entries of all folders that one look sees.
const MOST_ENTRIES: usize = 200_000;
/// The deepest folder that is looked into.
const MOST_DEPTH: usize = 64;
/// Bytes of one file that are kept, and of all of them.
const FILE_BYTES: u64 = 1024 * 1024;
const ALL_BYTES: u64 = 64 * 1024 * 1024;
/// Folders of a repository that hold data alone.
const DATA: [&str; 4] = ["lfs", "logs", "objects", "refs"];
/// Files of a repository that git obeys.
const SETTINGS: [&str; 5] = [
    "attributes",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
];
/// The end of the names of hooks that git never runs.
const INERT: &[u8] = b".sample";

/// The entries of one repository that git runs or obeys, by path from the held folder.
pub(in crate::tools::builtin) type Guarded = BTreeMap<PathBuf, GuardedItem>;

/// An entry of a repository that git runs or obeys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools::builtin) enum GuardedItem {
    File {
        /// `None` if it is too large to be kept.
        content: Option<Vec<u8>>,
        mode: Mode,
        owner: (u32, u32),
        /// Size and time of the last change, of a file that is not kept.
        version: Option<(i64, i64)>,
    },
    Folder,
    Link(OsString),
    Other,
}

/// Every repository below the held folder, by the path of its `.git`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tools::builtin) struct Repositories {
    pub(in crate::tools::builtin) all: BTreeMap<PathBuf, Guarded>,
    /// The identity of each `.git`, which it keeps when a folder is renamed.
    pub(in crate::tools::builtin) ids: BTreeMap<PathBuf, FileId>,
    /// True if there are more folders than one look sees.
    pub(in crate::tools::builtin) is_cut: bool,
}

/// One look at everything below the held folder.
struct Look<'b> {
    bytes: u64,
    entries: usize,
    found: Repositories,
    /// Folders outside of any `.git` that a `.git` file or link names.
    named: Vec<PathBuf>,
    root: &'b Path,
}

impl Beneath {
    /// Looks for repositories at any depth, and at folders that a `.git` named before.
    ///
    /// # Errors
    /// If the held folder cannot be read.
    pub(in crate::tools::builtin) fn repositories(
        &self,
        before: &Repositories,
    ) -> io::Result<Repositories> {
        let is_named = |path: &&PathBuf| path.file_name().is_none_or(|name| !is_git(name));
        let mut look = Look {
            bytes: ALL_BYTES,
            entries: MOST_ENTRIES,
            found: Repositories::default(),
            named: before.all.keys().filter(is_named).cloned().collect(),
            root: &self.root,
        };
        look.folder(self.folder.as_fd(), Path::new(""), 0)?;
        while let Some(path) = look.named.pop() {
            if look.found.all.contains_key(&path) {
                continue;
            }
            if let Ok(folder) = self.plain_folder(&path) {
                let mut guarded = Guarded::new();
                look.repository(folder.as_fd(), (&path, 0), false, &mut guarded);
                look.found.all.insert(path, guarded);
            }
        }
        Ok(look.found)
    }

    /// The folder at that path, which no link leads through.
    fn plain_folder(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = HELD.union(OFlags::NOFOLLOW);
        let mut folder = openat(&self.folder, ".", HELD, Mode::empty())?;
        for step in path.components() {
            folder = match step {
                Component::CurDir => continue,
                Component::Normal(name) => openat(&folder, name, flags, Mode::empty())?,
                _ => return Err(Errno::INVAL.into()),
            };
        }
        Ok(folder)
    }

    /// Makes an entry of a repository what it was.
    ///
    /// # Errors
    /// If its folder is gone, or the system refuses it.
    pub(in crate::tools::builtin) fn put_back(
        &self,
        path: &Path,
        item: &GuardedItem,
    ) -> io::Result<()> {
        let (folder, name) = self.plain_place(path)?;
        match item {
            GuardedItem::Folder => {
                let is_folder =
                    statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
                        FileType::from_raw_mode(found.st_mode) == FileType::Directory
                    });
                if !is_folder {
                    remove_all(folder.as_fd(), name, 0)?;
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
                remove_all(folder.as_fd(), name, 0)?;
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
                remove_all(folder.as_fd(), name, 0)?;
                Ok(rustix::fs::symlinkat(target, &folder, name)?)
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
        let (folder, name) = self.plain_place(path)?;
        remove_all(folder.as_fd(), name, 0)
    }

    fn plain_place<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let folder = self.plain_folder(path.parent().unwrap_or(Path::new("")))?;
        Ok((folder, name))
    }
}

impl Look<'_> {
    /// Counts an entry; false once there are too many.
    fn counts(&mut self) -> bool {
        match self.entries.checked_sub(1) {
            Some(rest) => self.entries = rest,
            None => self.found.is_cut = true,
        }
        !self.found.is_cut
    }

    fn folder(&mut self, folder: BorrowedFd<'_>, at: &Path, depth: usize) -> io::Result<()> {
        for entry in entries_of(folder)?.flatten() {
            if !self.counts() {
                return Ok(());
            }
            let path = at.join(&entry.name);
            if is_git(&entry.name) {
                self.git_entry(folder, &entry.name, path);
            } else if entry.kind == EntryKind::Folder {
                let flags = HELD.union(OFlags::NOFOLLOW);
                match openat(folder, &entry.name, flags, Mode::empty()) {
                    Ok(_) if depth >= MOST_DEPTH => self.found.is_cut = true,
                    // One that cannot be read is left out.
                    Ok(below) => drop(self.folder(below.as_fd(), &path, depth + 1)),
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// An entry `.git`: the repository itself, or the name of one.
    fn git_entry(&mut self, folder: BorrowedFd<'_>, name: &OsStr, path: PathBuf) {
        let Some(item) = self.item(folder, name) else {
            return;
        };
        if let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            self.found.ids.insert(path.clone(), id_of(&found));
        }
        let above = path.parent().unwrap_or(Path::new(""));
        let named = match &item {
            GuardedItem::File {
                content: Some(text),
                ..
            } => text
                .strip_prefix(b"gitdir:")
                .map(|text| PathBuf::from(OsStr::from_bytes(text.trim_ascii()))),
            GuardedItem::Link(target) => Some(PathBuf::from(target)),
            GuardedItem::File { .. } | GuardedItem::Folder | GuardedItem::Other => None,
        };
        self.named
            .extend(named.and_then(|named| inside(self.root, above, &named)));
        let mut guarded = Guarded::new();
        let is_folder = item == GuardedItem::Folder;
        guarded.insert(path.clone(), item);
        if is_folder
            && let Ok(below) = openat(folder, name, HELD.union(OFlags::NOFOLLOW), Mode::empty())
        {
            self.repository(below.as_fd(), (&path, 0), false, &mut guarded);
        }
        self.found.all.insert(path, guarded);
    }

    /// Everything in a folder of a repository that git runs or obeys.
    fn repository(
        &mut self,
        folder: BorrowedFd<'_>,
        (at, depth): (&Path, usize),
        in_hooks: bool,
        guarded: &mut Guarded,
    ) {
        let Ok(entries) = entries_of(folder) else {
            return;
        };
        for entry in entries.flatten() {
            if !self.counts() {
                return;
            }
            let name = entry.name.to_string_lossy().to_ascii_lowercase();
            if depth == 0 && DATA.contains(&name.as_str())
                || in_hooks && entry.name.as_bytes().ends_with(INERT)
            {
                continue;
            }
            let path = at.join(&entry.name);
            let is_hook = in_hooks || name == "hooks";
            // A link may stand for any of them.
            let is_guarded =
                is_hook || SETTINGS.contains(&name.as_str()) || entry.kind == EntryKind::Other;
            if is_guarded && let Some(item) = self.item(folder, &entry.name) {
                guarded.insert(path.clone(), item);
            }
            if entry.kind != EntryKind::Folder {
                continue;
            }
            let flags = HELD.union(OFlags::NOFOLLOW);
            match openat(folder, &entry.name, flags, Mode::empty()) {
                Ok(_) if depth >= MOST_DEPTH => self.found.is_cut = true,
                Ok(below) => self.repository(below.as_fd(), (&path, depth + 1), is_hook, guarded),
                Err(_) => {}
            }
        }
    }

    fn item(&mut self, folder: BorrowedFd<'_>, name: &OsStr) -> Option<GuardedItem> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Some(GuardedItem::Folder),
            FileType::Symlink => {
                let target = readlinkat(folder, name, Vec::new()).ok()?;
                Some(GuardedItem::Link(OsString::from_vec(target.into_bytes())))
            }
            FileType::RegularFile => {
                let opened = openat(folder, name, READ, Mode::empty()).ok();
                let stat = opened.as_ref().and_then(|file| fstat(file).ok());
                let stat = stat.unwrap_or(found);
                let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
                let fits = size <= FILE_BYTES.min(self.bytes);
                let content = opened.filter(|_| fits).and_then(|file| {
                    let mut content = Vec::new();
                    let read = File::from(file).take(FILE_BYTES).read_to_end(&mut content);
                    read.ok().map(|_| content)
                });
                self.bytes = self.bytes.saturating_sub(size.min(FILE_BYTES));
                let version = (stat.st_size, stat.st_ctime);
                Some(GuardedItem::File {
                    version: content.is_none().then_some(version),
                    content,
                    mode: Mode::from_raw_mode(stat.st_mode),
                    owner: (stat.st_uid, stat.st_gid),
                })
            }
            _ => Some(GuardedItem::Other),
        }
    }
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// A path that a `.git` in `above` names, from the held folder; `None` if it leads outside, or into a `.git`, which is found anyway.
fn inside(root: &Path, above: &Path, named: &Path) -> Option<PathBuf> {
    let whole = if named.is_absolute() {
        named.strip_prefix(root).ok()?.to_owned()
    } else {
        above.join(named)
    };
    let mut path = PathBuf::new();
    for step in whole.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(name) if is_git(name) => return None,
            Component::Normal(name) => path.push(name),
            Component::Prefix(_) | Component::RootDir => return None,
        }
    }
    (!path.as_os_str().is_empty()).then_some(path)
}

/// Removes what has that name, and everything below it. It is no error where nothing has.
fn remove_all(folder: BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<()> {
    let found = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        found => found?,
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Ok(unlinkat(folder, name, AtFlags::empty())?);
    }
    if depth >= MOST_DEPTH {
        return Err(Errno::MLINK.into());
    }
    let below = openat(folder, name, HELD.union(OFlags::NOFOLLOW), Mode::empty())?;
    for entry in entries_of(below.as_fd())? {
        remove_all(below.as_fd(), &entry?.name, depth + 1)?;
    }
    Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}
