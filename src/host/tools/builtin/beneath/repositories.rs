//! Git repositories below the held folder: their hooks, settings and pointers to other folders. Opens nothing through a link. Does not
//! know tools.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, readlinkat, statat};
use rustix::io::Errno;

use super::opened::{LOOK, Opened, readable};
use super::pointer::{Target, path_in};
use super::{Beneath, entries_of, id_of};
use crate::tools::builtin::entry::{Entry, EntryKind};
use crate::tools::withheld_files::FileId;

/// The most entries of all folders that a search reads, known repositories excepted.
const MOST_ENTRIES: usize = 200_000;
/// The deepest folder that a search reads.
const MOST_DEPTH: usize = 128;
/// Bytes of one file that are kept, and of all of them.
const FILE_BYTES: u64 = 1024 * 1024;
const ALL_BYTES: u64 = 64 * 1024 * 1024;
/// Folders of a repository with many entries, which a search reads last.
const DATA: [&str; 4] = ["lfs", "logs", "objects", "refs"];
/// Files of a repository that git obeys.
const SETTINGS: [&str; 4] = ["commondir", "config", "config.worktree", "gitdir"];
/// The end of the names of hooks that git never runs.
const INERT: &[u8] = b".sample";

/// An entry of a repository that git runs or obeys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools::builtin) enum GuardedItem {
    File {
        /// `None` if it is too large to be kept.
        content: Option<Vec<u8>>,
        mode: Mode,
        owner: (u32, u32),
        /// Size and time of the last change, of a file that is not kept.
        version: Option<(i64, i64, i64)>,
    },
    Folder,
    Link(OsString),
    Other,
}

/// The identity of a file or folder, which it keeps when it is renamed, and its time of birth, since systems use numbers again.
pub(in crate::tools::builtin) type Identity = (FileId, Option<(i64, u32)>);

/// The entries of a repository that git runs or obeys.
#[derive(Clone, Debug)]
pub(in crate::tools::builtin) struct Repository {
    pub(in crate::tools::builtin) id: Option<Identity>,
    /// Entries by path within the repository. The empty path is the repository: a folder, or a `.git` that names a folder.
    pub(in crate::tools::builtin) items: BTreeMap<PathBuf, GuardedItem>,
    /// Paths of `items` that name a folder outside of the held one.
    pub(in crate::tools::builtin) outside: BTreeSet<PathBuf>,
    /// Paths of `items` that name a missing folder, which git could find elsewhere or later.
    pub(in crate::tools::builtin) missing: BTreeSet<PathBuf>,
}

/// The result of a search below the held folder.
#[derive(Debug, Default)]
pub(in crate::tools::builtin) struct Found {
    /// Repositories by path from the held folder.
    pub(in crate::tools::builtin) all: BTreeMap<PathBuf, Repository>,
    /// True if some folders were not read.
    pub(in crate::tools::builtin) is_cut: bool,
    /// Repositories, and folders of them, that the system refuses to read.
    pub(in crate::tools::builtin) unread: BTreeSet<PathBuf>,
}

struct Search<'b> {
    beneath: &'b Beneath,
    bytes: u64,
    /// Folders of data, which come last.
    data: Vec<(PathBuf, usize)>,
    entries: usize,
    found: Found,
    /// Folders that a pointer names.
    named: Vec<PathBuf>,
}

impl Repository {
    /// True if it is a folder, not a pointer to one.
    pub(in crate::tools::builtin) fn is_folder(&self) -> bool {
        self.items.get(Path::new("")) == Some(&GuardedItem::Folder)
    }
}

impl Beneath {
    /// Searches for repositories: first at the known paths, then at every depth.
    ///
    /// A folder is one if it is called `.git`, if a pointer of git names it, or if it has the entries that git asks for.
    ///
    /// # Errors
    /// If the held folder cannot be read.
    pub(in crate::tools::builtin) fn repositories(&self, known: &[PathBuf]) -> io::Result<Found> {
        self.repositories_within(known, MOST_ENTRIES)
    }

    fn repositories_within(&self, known: &[PathBuf], entries: usize) -> io::Result<Found> {
        let mut search = Search {
            beneath: self,
            bytes: ALL_BYTES,
            data: Vec::new(),
            entries,
            found: Found::default(),
            named: Vec::new(),
        };
        for path in known {
            search.visit(path);
        }
        search.follow_all();
        let top = self.opened(Path::new(""), LOOK)?;
        search.folder(top.as_fd(), Path::new(""), 0);
        while let Some((path, depth)) = search.data.pop() {
            search.follow_all();
            if let Ok(folder) = self.opened(&path, LOOK) {
                search.folder(folder.as_fd(), &path, depth);
            }
        }
        search.follow_all();
        Ok(search.found)
    }
}

impl Search<'_> {
    /// Reads the repository at a path, without a search and whatever else there is. Reports it if the system refuses.
    fn visit(&mut self, path: &Path) {
        if self.found.all.contains_key(path) {
            return;
        }
        let visited = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if is_git(name) => {
                let parent = self.beneath.opened(parent, LOOK);
                parent.map(|parent| self.git_entry(parent.as_fd(), name, path))
            }
            _ => self.visit_folder(path),
        };
        if let Err(fault) = visited
            && !is_gone(&fault.into())
        {
            self.found.unread.insert(path.to_owned());
        }
    }

    fn visit_folder(&mut self, path: &Path) -> rustix::io::Result<()> {
        let folder = self.beneath.opened(path, LOOK)?;
        let entries: Vec<Entry> = entries_of(folder.as_fd())?.flatten().collect();
        self.repository(folder.as_fd(), path, &entries);
        Ok(())
    }

    fn follow_all(&mut self) {
        while let Some(path) = self.named.pop() {
            self.visit(&path);
        }
    }

    /// Searches a folder, and everything below it.
    fn folder(&mut self, folder: BorrowedFd<'_>, at: &Path, depth: usize) {
        let read = match entries_of(folder) {
            Ok(read) => read,
            Err(fault) => {
                self.found.is_cut |= !is_gone(&fault.into());
                return;
            }
        };
        let mut entries = Vec::new();
        for entry in read.flatten() {
            let Some(rest) = self.entries.checked_sub(1) else {
                self.found.is_cut = true;
                break;
            };
            self.entries = rest;
            entries.push(entry);
        }
        let is_repository = at.file_name().is_some_and(is_git) || has_names_of_git(&entries);
        if is_repository {
            self.repository(folder, at, &entries);
        }
        for Entry { kind, name } in entries {
            let path = at.join(&name);
            if kind == EntryKind::Folder {
                if depth >= MOST_DEPTH {
                    self.found.is_cut = true;
                } else if is_repository && is_any(&name, &DATA) {
                    self.data.push((path, depth + 1));
                } else if let Ok(below) = Opened::at(folder, &name, LOOK) {
                    self.folder(below.as_fd(), &path, depth + 1);
                } else if is_git(&name) {
                    self.found.unread.insert(path);
                }
            } else if is_git(&name) {
                self.git_entry(folder, &name, &path);
            }
        }
    }

    /// Reads an entry `.git`: the repository itself, or a pointer to one.
    fn git_entry(&mut self, folder: BorrowedFd<'_>, name: &OsStr, path: &Path) {
        if self.found.all.contains_key(path) {
            return;
        }
        let Some(item) = self.item(folder, name) else {
            return;
        };
        if item == GuardedItem::Folder {
            if self.visit_folder(path).is_err() {
                self.found.unread.insert(path.to_owned());
            }
            return;
        }
        let base = path.parent().unwrap_or(Path::new(""));
        let named = match &item {
            GuardedItem::Link(target) => {
                let target = PathBuf::from(target);
                match self.beneath.target(base, &target) {
                    // A link to a file that names a folder is such a file.
                    Target::Inside(file) => self.pointer_at(&file).or(Some(target)),
                    _ => Some(target),
                }
            }
            item => named_by(item, b"gitdir: "),
        };
        let mut repository = Repository {
            id: identity(folder, name),
            items: BTreeMap::from([(PathBuf::new(), item)]),
            missing: BTreeSet::new(),
            outside: BTreeSet::new(),
        };
        if let Some(named) = named {
            self.follow(base, &named, (Path::new(""), &mut repository));
        }
        self.found.all.insert(path.to_owned(), repository);
    }

    fn pointer_at(&mut self, path: &Path) -> Option<PathBuf> {
        let folder = self.beneath.opened(path.parent()?, LOOK).ok()?;
        let item = self.item(folder.as_fd(), path.file_name()?)?;
        named_by(&item, b"gitdir: ")
    }

    /// Notes the folder that a pointer names, to be read later, and in the pointer's repository if it is missing or outside.
    fn follow(
        &mut self,
        base: &Path,
        named: &Path,
        (pointer, repository): (&Path, &mut Repository),
    ) {
        let strays = match self.beneath.target(base, named) {
            Target::Inside(path) => {
                self.named.push(path);
                return;
            }
            Target::Missing => &mut repository.missing,
            Target::Outside => &mut repository.outside,
        };
        strays.insert(pointer.to_owned());
    }

    /// Reads everything in the folder of a repository that git runs or obeys.
    fn repository(&mut self, folder: BorrowedFd<'_>, at: &Path, entries: &[Entry]) {
        if self.found.all.contains_key(at) {
            return;
        }
        let mut repository = Repository {
            id: identity(folder, OsStr::new(".")),
            items: BTreeMap::from([(PathBuf::new(), GuardedItem::Folder)]),
            missing: BTreeSet::new(),
            outside: BTreeSet::new(),
        };
        for Entry { kind, name } in entries {
            let is_info = is_any(name, &["info"]);
            let is_hooks = is_any(name, &["hooks"]);
            if is_info && *kind == EntryKind::Folder {
                self.below(folder, (at, Path::new(name)), 0, &mut repository);
                continue;
            }
            if !is_info && !is_hooks && !is_any(name, &SETTINGS) {
                continue;
            }
            let Some(item) = self.item(folder, name) else {
                continue;
            };
            if is_any(name, &["commondir"])
                && let Some(named) = named_by(&item, b"")
            {
                self.follow(at, &named, (Path::new(name), &mut repository));
            }
            let is_folder = item == GuardedItem::Folder;
            repository.items.insert(name.into(), item);
            if is_hooks && is_folder {
                self.below(folder, (at, Path::new(name)), 0, &mut repository);
            }
        }
        self.found.all.insert(at.to_owned(), repository);
    }

    /// Reads the hooks in a folder of a repository at every depth, or the attributes in `info`.
    fn below(
        &mut self,
        folder: BorrowedFd<'_>,
        (at, within): (&Path, &Path),
        depth: usize,
        repository: &mut Repository,
    ) {
        let Some(name) = within.file_name() else {
            return;
        };
        let opened = Opened::at(folder, name, LOOK);
        let read = opened.and_then(|folder| Ok((entries_of(folder.as_fd())?, folder)));
        let (entries, folder) = match read {
            Ok(read) if depth < MOST_DEPTH => read,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return,
            _ => {
                self.found.unread.insert(at.join(within));
                return;
            }
        };
        let is_info = depth == 0 && is_any(name, &["info"]);
        for Entry { kind, name } in entries.flatten() {
            let is_inert = if is_info {
                !is_any(&name, &["attributes"])
            } else {
                kind != EntryKind::Folder && name.as_bytes().ends_with(INERT)
            };
            if is_inert {
                continue;
            }
            let path = within.join(&name);
            if let Some(item) = self.item(folder.as_fd(), &name) {
                let is_folder = item == GuardedItem::Folder;
                repository.items.insert(path.clone(), item);
                if is_folder && !is_info {
                    self.below(folder.as_fd(), (at, &path), depth + 1, repository);
                }
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
                let size = u64::try_from(found.st_size).unwrap_or(u64::MAX);
                let fits = size <= FILE_BYTES.min(self.bytes);
                let content = readable(folder, name).filter(|_| fits).and_then(|file| {
                    let mut content = Vec::new();
                    let read = file.take(FILE_BYTES).read_to_end(&mut content);
                    read.ok().map(|_| content)
                });
                self.bytes = self.bytes.saturating_sub(size.min(FILE_BYTES));
                let nanos = i64::try_from(found.st_ctime_nsec).unwrap_or_default();
                let version = (found.st_size, found.st_ctime, nanos);
                Some(GuardedItem::File {
                    version: content.is_none().then_some(version),
                    content,
                    mode: Mode::from_raw_mode(found.st_mode),
                    owner: (found.st_uid, found.st_gid),
                })
            }
            _ => Some(GuardedItem::Other),
        }
    }
}

pub(super) fn is_git(name: &OsStr) -> bool {
    is_any(name, &[".git"])
}

/// True if the name is one of these, as a file system without letter case reads it.
fn is_any(name: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// True for the entries of a folder that git takes for a repository, or for the common part of one.
fn has_names_of_git(entries: &[Entry]) -> bool {
    let has = |name| entries.iter().any(|entry| is_any(&entry.name, &[name]));
    has("objects") && has("refs") || has("HEAD") && has("commondir")
}

/// True if a path leads to nothing without a link.
fn is_gone(fault: &io::Error) -> bool {
    let fault = Errno::from_io_error(fault);
    matches!(fault, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// The path in a file that begins with these bytes.
fn named_by(item: &GuardedItem, prefix: &[u8]) -> Option<PathBuf> {
    let GuardedItem::File { content, .. } = item else {
        return None;
    };
    path_in(content.as_deref()?, prefix)
}

#[cfg(target_os = "linux")]
fn identity(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Identity> {
    use rustix::fs::{StatxFlags, statx};

    let id = id_of(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?);
    let born = statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok();
    let born = born.filter(|found| found.stx_mask & StatxFlags::BTIME.bits() != 0);
    let born = born.map(|found| (found.stx_btime.tv_sec, found.stx_btime.tv_nsec));
    Some((id, born))
}

#[cfg(not(target_os = "linux"))]
fn identity(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Identity> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((id_of(&found), None))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tools::withheld::Withheld;

    #[test]
    fn known_repositories_are_read_whatever_the_search_has_to_leave_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for n in 0..20 {
            fs::create_dir(root.join(format!("d{n}"))).unwrap();
        }
        let deep: PathBuf = std::iter::repeat_n("d", MOST_DEPTH + 2).collect();
        for at in ["z/.git", "data"] {
            fs::create_dir_all(root.join(at).join("hooks")).unwrap();
            fs::write(root.join(at).join("hooks/update"), "x").unwrap();
        }
        fs::create_dir_all(root.join(&deep).join(".git")).unwrap();
        fs::create_dir(root.join("y")).unwrap();
        fs::write(root.join("y/.git"), "gitdir: ../data\n").unwrap();
        let beneath = Beneath::open(root, Withheld::default()).unwrap();
        let found = beneath.repositories(&[]).unwrap();
        let paths: Vec<_> = found.all.keys().map(PathBuf::as_path).collect();
        let known = ["data", "y/.git", "z/.git"].map(PathBuf::from);
        assert_eq!(paths, known.each_ref().map(PathBuf::as_path));
        assert!(found.is_cut);

        let mut known = Vec::from(known);
        known.push(deep.join(".git"));
        let found = beneath.repositories_within(&known, 5).unwrap();
        assert!(known.iter().all(|path| found.all.contains_key(path)));
        assert!(found.is_cut && found.unread.is_empty());
        assert!(
            found.all[Path::new("data")]
                .items
                .contains_key(Path::new("hooks/update"))
        );
    }
}
