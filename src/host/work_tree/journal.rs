//! The journal of one publication: its steps, durable before the first of them. Takes no step.
//!
//! A journal that a killed process left says whether the steps are to be completed or taken back: its name tells, so that the
//! change from one to the other is a rename, which a full disk allows.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use monolith_core::work::WorkPath;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::WorkTreeError;
use super::folder::{names, open_file, open_root, place_error};
use super::found::Found;
use super::ops::Ops;
use super::step::{OWNER, Step};

/// The version of the journal.
const FORMAT: u32 = 1;
pub(super) const FORWARD: &str = "journal";
const BACK: &str = "journal.back";
const NEW: &str = "journal.new";
/// The ending of the journal of a complete publication.
const DONE: &str = ".done";
/// Folders above that of the journal which may be new: `trees`, the state, and the folder that holds the state.
const ABOVE: usize = 3;

/// The purpose of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// An item's changes reach the work tree.
    Publish,
    /// They are taken back later.
    Thaw,
}

/// A publication that has begun, or is about to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    /// The time at which the root of the tree was made; none where the file system does not tell. The inode of a removed tree is given
    /// again.
    born_unix_nanos: Option<u64>,
    format: u32,
    /// The id that the caller gave the publication.
    pub id: String,
    /// True if the stage is inside the work tree, not next to it.
    pub is_inside: bool,
    /// Random text that the name of the stage has, too.
    pub key: String,
    pub modes: Vec<FolderMode>,
    pub purpose: Purpose,
    /// The steps, in execution order.
    pub steps: Vec<Step>,
}

/// The modes of a folder whose entries or mode change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FolderMode {
    /// The mode afterwards; none for a folder that is removed.
    pub after: Option<u32>,
    /// The mode before; none for a new folder.
    pub before: Option<u32>,
    /// The path; none for the root.
    pub path: Option<WorkPath>,
}

/// The direction in which a journal is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Back,
    Forward,
}

impl FolderMode {
    /// True if a mode of a folder that is neither new nor removed is not the publication's: something else has set it.
    pub(super) fn is_foreign(&self, mode: u32) -> bool {
        let (Some(before), Some(after)) = (self.before, self.after) else {
            return false;
        };
        // A closed folder is open to its owner meanwhile.
        [before, after]
            .into_iter()
            .all(|known| mode != known && mode != known | OWNER)
    }

    /// The mode at the end of that direction; `None` for a folder that is gone or not yet there.
    pub(super) fn target(&self, end: Direction) -> Option<u32> {
        match end {
            Direction::Back => self.before,
            Direction::Forward => self.after.or(self.before),
        }
    }
}

impl Journal {
    pub(super) fn new(
        (id, purpose): (&str, Purpose),
        is_inside: bool,
        born_unix_nanos: Option<u64>,
    ) -> std::io::Result<Self> {
        let mut key = [0; 8];
        getrandom::fill(&mut key)
            .map_err(|fault| std::io::Error::other(format!("no random numbers: {fault}")))?;
        Ok(Self {
            born_unix_nanos,
            format: FORMAT,
            id: id.to_owned(),
            is_inside,
            key: format!("{:016x}", u64::from_ne_bytes(key)),
            modes: Vec::new(),
            purpose,
            steps: Vec::new(),
        })
    }

    /// True if it is of another tree: a removed one, whose inode this tree has got.
    fn is_of_another_tree(&self, born_unix_nanos: Option<u64>) -> bool {
        let born = self.born_unix_nanos.zip(born_unix_nanos);
        born.is_some_and(|(theirs, ours)| theirs != ours)
    }
}

/// The place of a work tree's journal.
#[derive(Debug)]
pub(super) struct JournalFile {
    folder: OwnedFd,
    path: PathBuf,
}

impl JournalFile {
    pub(super) fn open(folder: &Path) -> Result<Self, WorkTreeError> {
        let path = folder.to_owned();
        let folder = open_root(folder).map_err(|fault| place_error(&path, fault))?;
        Ok(Self { folder, path })
    }

    /// The folder that holds it.
    pub(super) fn place(&self) -> &Path {
        &self.path
    }

    fn at(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Reads the journal that a process left; `None` if there is none.
    pub(super) fn read(&self) -> Result<Option<(Journal, Direction)>, WorkTreeError> {
        for (name, direction) in [(BACK, Direction::Back), (FORWARD, Direction::Forward)] {
            let journal = self.journal(name);
            if let Some(journal) = journal.map_err(|reason| self.refuse(name, &reason))? {
                return Ok(Some((journal, direction)));
            }
        }
        Ok(None)
    }

    /// Reads one journal; `None` if there is none. The error is the reason.
    fn journal(&self, name: &str) -> Result<Option<Journal>, String> {
        let file = match open_file(&self.folder, OsStr::new(name)) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::INVAL | Errno::LOOP | Errno::NXIO) => {
                return Err("no journal: it is no regular file".to_owned());
            }
            opened => opened.map_err(|fault| fault.to_string())?,
        };
        let journal = parsed(file).map_err(|fault| format!("no journal: {fault}"))?;
        if journal.format == FORMAT {
            return Ok(Some(journal));
        }
        let version = journal.format;
        Err(format!(
            "its format is {version}, and this build reads {FORMAT}"
        ))
    }

    /// The journals that are here, those of complete publications included. Whoever needs a damaged one says that it is damaged.
    pub(super) fn all(&self) -> std::io::Result<Vec<(OsString, Journal)>> {
        let mut names = names(&self.folder)?;
        names.retain(|name| {
            name == FORWARD || name == BACK || name.as_bytes().ends_with(DONE.as_bytes())
        });
        let read = |name: OsString| {
            let file = open_file(&self.folder, &name).ok()?;
            let journal = parsed(file).ok()?;
            Some((name, journal))
        };
        Ok(names.into_iter().filter_map(read).collect())
    }

    /// Removes the journals of a removed tree whose inode this one has got: none of their steps concerns it.
    pub(super) fn remove_others(
        &self,
        born_unix_nanos: Option<u64>,
        ops: Ops<'_>,
    ) -> std::io::Result<()> {
        for (name, journal) in self.all()? {
            if journal.is_of_another_tree(born_unix_nanos) {
                ops.remove(self.at(), &name)?;
            }
        }
        Ok(())
    }

    /// Makes a journal durable. From then on a killed publication is completed.
    pub(super) fn write(&self, journal: &Journal, ops: Ops<'_>) -> std::io::Result<()> {
        let (new, forward) = (OsStr::new(NEW), OsStr::new(FORWARD));
        if Found::at(self.at(), new)?.is_some() {
            ops.remove(self.at(), new)?;
        }
        let text = serde_json::to_vec(journal)?;
        let file = ops.create(self.at(), new)?;
        ops.write(&file, &text)?;
        ops.sync(&file)?;
        ops.rename((self.at(), new), (self.at(), forward))?;
        ops.sync_path(self.at(), ABOVE)
    }

    /// Turns the journal: from now on its steps are taken back.
    pub(super) fn turn_back(&self, ops: Ops<'_>) -> std::io::Result<()> {
        if Found::at(self.at(), OsStr::new(FORWARD))?.is_none() {
            return Ok(());
        }
        ops.replace(self.at(), OsStr::new(FORWARD), OsStr::new(BACK))?;
        ops.sync_folder(self.at())
    }

    /// Ends a complete publication. Its journal stays under the name of the publication until the caller has noted its end; that of a thaw
    /// goes.
    pub(super) fn finish(&self, journal: &Journal, ops: Ops<'_>) -> std::io::Result<()> {
        if journal.purpose == Purpose::Thaw {
            return self.clear(ops);
        }
        let done = done_name(&journal.id);
        for name in [FORWARD, BACK].map(OsStr::new) {
            if Found::at(self.at(), name)?.is_some() {
                ops.replace(self.at(), name, &done)?;
            }
        }
        ops.sync_folder(self.at())
    }

    /// The ids of the complete publications whose ends nobody has noted, in order. A name alone shows nothing: the journal has the id, too.
    pub(super) fn completed(&self) -> Result<Vec<String>, WorkTreeError> {
        let names = names(&self.folder).map_err(|fault| place_error(&self.path, fault))?;
        let mut ids = Vec::new();
        for name in names.iter().filter_map(|name| name.to_str()) {
            let Some(id) = name.strip_suffix(DONE) else {
                continue;
            };
            let is_its =
                |journal: &Journal| journal.id == id && journal.purpose == Purpose::Publish;
            let reason = match self.journal(name) {
                Ok(Some(journal)) if is_its(&journal) => {
                    ids.push(journal.id);
                    continue;
                }
                Ok(_) => "the journal of another publication".to_owned(),
                Err(reason) => reason,
            };
            let reason = format!("{reason}; move it away, and check what {id} changed");
            return Err(self.refuse(name, &reason));
        }
        ids.sort();
        Ok(ids)
    }

    /// Forgets a complete publication.
    pub(super) fn forget(&self, id: &str, ops: Ops<'_>) -> std::io::Result<()> {
        let done = done_name(id);
        if Found::at(self.at(), &done)?.is_some() {
            ops.remove(self.at(), &done)?;
        }
        Ok(())
    }

    /// Removes the journal: the publication was taken back, or never began.
    pub(super) fn clear(&self, ops: Ops<'_>) -> std::io::Result<()> {
        for name in [FORWARD, BACK].map(OsStr::new) {
            if Found::at(self.at(), name)?.is_some() {
                ops.remove(self.at(), name)?;
            }
        }
        ops.sync_folder(self.at())
    }

    fn refuse(&self, name: &str, reason: &str) -> WorkTreeError {
        WorkTreeError::Record {
            path: self.path.join(name),
            reason: reason.to_owned(),
        }
    }
}

fn parsed(file: File) -> std::io::Result<Journal> {
    Ok(serde_json::from_str(&std::io::read_to_string(file)?)?)
}

pub(super) fn done_name(id: &str) -> OsString {
    OsString::from(format!("{id}{DONE}"))
}
