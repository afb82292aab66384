//! Opens files below a folder, never through a link to the outside. Does not know tools.

mod denied;
pub(super) mod opened;
mod place;
mod pointer;
mod repair;
pub(super) mod repositories;
pub(super) mod stamp;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use self::denied::denied;
use super::entry::{Entry, EntryKind};
use crate::tools::withheld::{Withheld, WithheldIds};
use crate::tools::withheld_files::FileId;

/// The most links that one path leads through.
const MOST_LINKS: usize = 40;
/// Maximum retries of path steps that another process changes between two checks.
const MOST_TRIES: usize = 64;
/// Folders are held for what lies below them; that needs no right to read them.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HELD: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
/// A pipe is not waited for and a terminal not taken: what is no regular file is closed again.
const READ: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

/// A folder that is held open, and what lies beneath it.
///
/// The walk opens each step of a path by name in an open folder, and never follows a link. If a step is a link, the walk reads
/// its target and continues from that folder. Whatever other processes rename or replace meanwhile, nothing outside is opened.
/// A hard link has no outside: a file with a name in the folder is a file of the folder.
#[derive(Debug)]
pub(super) struct Beneath {
    folder: OwnedFd,
    /// The resolved path of the folder: the absolute target of a link may begin with it.
    root: PathBuf,
    withheld: Withheld,
}

/// An error from opening a path.
#[derive(Debug)]
pub(super) enum OpenError {
    /// No file may be written into a folder of this name.
    Closed(&'static str),
    /// It is a file of configuration, which may be read.
    Guarded,
    Io(io::Error),
    NotAFile,
    Outside,
    /// A folder of that name has too many files to tell whether this is one of them.
    Uncounted(String),
    Withheld,
}

impl From<io::Error> for OpenError {
    fn from(fault: io::Error) -> Self {
        Self::Io(fault)
    }
}

impl From<Errno> for OpenError {
    fn from(fault: Errno) -> Self {
        Self::Io(fault.into())
    }
}

/// A path on its way.
struct Walk<'b> {
    beneath: &'b Beneath,
    /// The folders from the root to the place that the path has reached, each with its name.
    folders: Vec<(OsString, OwnedFd)>,
    links: usize,
    /// Folders that a `.git` on the way names.
    named: Vec<FileId>,
    /// Everything that was opened, in that order.
    opened: Vec<FileId>,
    /// The steps that are left.
    steps: VecDeque<OsString>,
    tries: usize,
}

/// The target of a step.
enum Step {
    File(File),
    Folder,
}

impl Beneath {
    /// Opens a folder; `root` is its resolved path.
    pub(super) fn open(root: PathBuf, withheld: Withheld) -> io::Result<Self> {
        let folder = rustix::fs::open(&root, HELD, Mode::empty())?;
        Ok(Self {
            folder,
            root,
            withheld,
        })
    }

    /// The resolved path of the folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Opens the regular file at that path.
    pub(super) fn file(&self, path: &Path) -> Result<File, OpenError> {
        let mut walk = self.walk(path)?;
        let (last, withheld) = walk.judged_last()?;
        match last {
            Step::File(file) => match withheld.uncounted() {
                None => Ok(file),
                Some(folder) => Err(OpenError::Uncounted(folder.to_owned())),
            },
            Step::Folder => Err(OpenError::NotAFile),
        }
    }

    /// The entries of the directory at that path.
    pub(super) fn entries(
        &self,
        path: &Path,
    ) -> Result<impl Iterator<Item = io::Result<Entry>> + use<>, OpenError> {
        let mut walk = self.walk(path)?;
        // As a folder even where the path does not end in one.
        walk.steps.push_back(".".into());
        match walk.judged_last()?.0 {
            Step::File(_) => Err(Errno::NOTDIR.into()),
            Step::Folder => {
                let entries = entries_of(walk.here());
                entries.map_err(|fault| walk.denied(fault, "read or search"))
            }
        }
    }

    fn walk(&self, path: &Path) -> Result<Walk<'_>, OpenError> {
        Ok(Walk {
            beneath: self,
            folders: Vec::new(),
            links: 0,
            named: Vec::new(),
            opened: vec![id_of(&fstat(&self.folder)?)],
            steps: steps_of(path)?,
            tries: 0,
        })
    }
}

impl Walk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        let held = &self.beneath.folder;
        self.folders
            .last()
            .map_or(held, |(_, folder)| folder)
            .as_fd()
    }

    /// The error of a step in the folder that the path has led to; a denied one names the folder and the permission.
    fn denied(&self, fault: Errno, permission: &str) -> OpenError {
        let path: PathBuf = self.folders.iter().map(|(name, _)| name).collect();
        let folder = if self.folders.is_empty() {
            "the workspace's folder".to_owned()
        } else {
            format!("the folder {:?}", path.to_string_lossy())
        };
        denied(fault, permission, &folder, fstat(self.here()).ok().as_ref()).into()
    }

    /// Takes every step, and refuses the path where it leads through what is withheld. That is looked up when all of it is open: what is withheld
    /// may be replaced meanwhile, and nothing is read before.
    fn judged_last(&mut self) -> Result<(Step, WithheldIds), OpenError> {
        let last = self.last();
        let withheld = self.beneath.withheld.ids();
        if self.opened.iter().any(|id| withheld.has(*id))
            || withheld.holds_folder(&self.beneath.root)
        {
            return Err(OpenError::Withheld);
        }
        Ok((last?, withheld))
    }

    /// Takes every step.
    fn last(&mut self) -> Result<Step, OpenError> {
        while let Some(step) = self.steps.pop_front() {
            match step.as_bytes() {
                b"." => {}
                b".." => {
                    self.folders.pop().ok_or(OpenError::Outside)?;
                }
                _ => {
                    if let Some(file) = self.step(step)? {
                        return Ok(Step::File(file));
                    }
                }
            }
        }
        Ok(Step::Folder)
    }

    /// Takes one step by a name; a file where it leads to one, and no step is left.
    fn step(&mut self, name: OsString) -> Result<Option<File>, OpenError> {
        let found = statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW);
        let found = found.map_err(|fault| self.denied(fault, "search"))?;
        let opened = match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => match readlinkat(self.here(), &name, Vec::new()) {
                Ok(target) => return self.follow(OsString::from_vec(target.into_bytes())),
                Err(fault) => Err(fault),
            },
            FileType::Directory => {
                let flags = HELD.union(OFlags::NOFOLLOW);
                openat(self.here(), &name, flags, Mode::empty())
            }
            _ if !self.steps.is_empty() => return Err(Errno::NOTDIR.into()),
            FileType::RegularFile => openat(self.here(), &name, READ, Mode::empty()),
            _ => return Err(OpenError::NotAFile),
        };
        let opened = match opened {
            Ok(opened) => opened,
            // It is not any more what it was a moment ago.
            Err(Errno::LOOP | Errno::MLINK | Errno::NOTDIR | Errno::INVAL)
                if self.tries < MOST_TRIES =>
            {
                self.tries += 1;
                self.steps.push_front(name);
                return Ok(None);
            }
            Err(fault) => return Err(denied(fault, "read", "it", Some(&found)).into()),
        };
        // What counts is what was opened, not what was looked at.
        let opened_as = fstat(&opened)?;
        self.opened.push(id_of(&opened_as));
        match FileType::from_raw_mode(opened_as.st_mode) {
            FileType::Directory => {
                self.folders.push((name, opened));
                Ok(None)
            }
            FileType::RegularFile if self.steps.is_empty() => Ok(Some(File::from(opened))),
            FileType::RegularFile => Err(Errno::NOTDIR.into()),
            _ => Err(OpenError::NotAFile),
        }
    }

    /// Continues with the target of a link.
    fn follow(&mut self, target: OsString) -> Result<Option<File>, OpenError> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = PathBuf::from(target);
        let rest = if target.is_absolute() {
            self.folders.clear();
            let below = target.strip_prefix(&self.beneath.root);
            below.map_err(|_| OpenError::Outside)?.to_owned()
        } else {
            target
        };
        for step in steps_of(&rest)?.into_iter().rev() {
            self.steps.push_front(step);
        }
        Ok(None)
    }
}

fn steps_of(path: &Path) -> Result<VecDeque<OsString>, OpenError> {
    let step = |component: Component<'_>| match component {
        Component::Prefix(_) | Component::RootDir => Err(OpenError::Outside),
        other => Ok(other.as_os_str().to_owned()),
    };
    let mut steps = path
        .components()
        .map(step)
        .collect::<Result<VecDeque<_>, _>>()?;
    // `a/` is a directory, or nothing.
    if path.as_os_str().as_bytes().ends_with(b"/") {
        steps.push_back(".".into());
    }
    Ok(steps)
}

/// Reads a held folder.
fn entries_of(
    folder: BorrowedFd<'_>,
) -> rustix::io::Result<impl Iterator<Item = io::Result<Entry>> + use<>> {
    let flags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
    let readable = openat(folder, ".", flags, Mode::empty())?;
    let again = readable.try_clone().map_err(|_| Errno::MFILE)?;
    let kind_of = move |name: &OsStr, kind: FileType| {
        let kind = match kind {
            // Not every file system reports it. An entry that vanished since is listed as what it last was known to be: a name.
            FileType::Unknown => statat(&again, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |found| {
                    FileType::from_raw_mode(found.st_mode)
                }),
            known => known,
        };
        match kind {
            FileType::Directory => EntryKind::Folder,
            FileType::RegularFile => EntryKind::File,
            _ => EntryKind::Other,
        }
    };
    Ok(Dir::new(readable)?.filter_map(move |entry| {
        let entry = match entry {
            Ok(entry) => entry,
            Err(fault) => return Some(Err(fault.into())),
        };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let shown = !matches!(name.as_bytes(), b"." | b"..");
        shown.then(|| {
            Ok(Entry {
                kind: kind_of(name, entry.file_type()),
                name: name.to_owned(),
            })
        })
    }))
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the types of both fields differ between systems"
)]
fn id_of(found: &Stat) -> FileId {
    (found.st_dev as u64, found.st_ino as u64)
}
