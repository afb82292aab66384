//! The state folder that works on a tree, as a record in the tree's scratch folder: another one must not touch its unfinished work.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::error::WorkTreeError;
use super::folder::place_error;
use super::journal::JournalFile;
use super::publisher::stage_name;
use super::recovery::Root;
use super::scratch_folder::{NEW_OWNER, OWNER, OWNER_BYTES, ScratchFolder};
use super::state::TreeLock;

/// The first line of a record: its format.
const FORMAT: &[u8] = b"monolith owner 1";

/// The state folder that works on a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The time at which the root of the tree was made, where that is known.
    born_unix_nanos: Option<u64>,
    /// The process that works on it, or did.
    pid: u32,
    state: PathBuf,
}

impl Owner {
    /// This process, with the resolved path of its state folder.
    pub(super) fn new(root: &Root, state: PathBuf) -> Self {
        Self {
            born_unix_nanos: root.born_unix_nanos,
            pid: std::process::id(),
            state,
        }
    }

    /// Locks a tree for this state folder.
    ///
    /// # Errors
    /// [`WorkTreeError::Busy`] where a process of another state folder works on the tree, [`WorkTreeError::Unfinished`] where one has left
    /// work there.
    pub(super) fn lock(
        &self,
        (root, path): (&Root, &Path),
        (journal, syncs): (&JournalFile, bool),
    ) -> Result<Option<TreeLock>, WorkTreeError> {
        let lock = TreeLock::of_root(&root.folder);
        let folders = ScratchFolder::existing(path, &root.found)?;
        let lock = match lock {
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {
                let owners = folders
                    .iter()
                    .find_map(|folder| read(folder).ok().flatten());
                return Err(WorkTreeError::Busy {
                    holder: owners.map(|owner| owner.pid),
                    path: path.to_owned(),
                });
            }
            lock => lock.map_err(|fault| place_error(path, fault))?,
        };
        for folder in &folders {
            if !self.judge(folder, path, lock.is_some(), journal)? {
                // Before anything else: what shows that it belongs here goes with the stage.
                self.record(folder, syncs)?;
            }
        }
        Ok(lock)
    }

    /// Refuses a scratch folder with the work of another state folder. Without a lock of the root, its process may be about to begin. False
    /// if it has this state folder's work under another path.
    fn judge(
        &self,
        folder: &ScratchFolder,
        path: &Path,
        is_locked: bool,
        journal: &JournalFile,
    ) -> Result<bool, WorkTreeError> {
        let Some(theirs) = read(folder)? else {
            return Ok(true);
        };
        let born = theirs.born_unix_nanos.zip(self.born_unix_nanos);
        let is_of_removed_tree = born.is_some_and(|(theirs, ours)| theirs != ours);
        if theirs.state == self.state || is_of_removed_tree {
            return Ok(true);
        }
        if is_locked && !folder.has_work()? {
            return Ok(true);
        }
        if is_locked && has_stage_of(folder, journal)? {
            return Ok(false);
        }
        Err(WorkTreeError::Unfinished {
            path: path.to_owned(),
            scratch: folder.path.clone(),
            state: theirs.state,
        })
    }

    /// Records this state folder, before anything else is in the scratch folder.
    pub(super) fn record(&self, folder: &ScratchFolder, syncs: bool) -> Result<(), WorkTreeError> {
        match folder.set_owner(&self.to_bytes(), syncs) {
            Err(fault) if !self.is_recorded(folder) => {
                Err(place_error(&folder.path.join(NEW_OWNER), fault))
            }
            // The process id is for people: a full disk does not keep the lock away.
            _ => Ok(()),
        }
    }

    fn is_recorded(&self, folder: &ScratchFolder) -> bool {
        let facts = |owner: &Self| (owner.state.clone(), owner.born_unix_nanos);
        let theirs = read(folder).ok().flatten();
        theirs.is_some_and(|theirs| facts(&theirs) == facts(self))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let born = self.born_unix_nanos;
        let born = born.map_or_else(|| "-".to_owned(), |born| born.to_string());
        let facts = format!("\n{}\n{born}\n", self.pid);
        [FORMAT, facts.as_bytes(), self.state.as_os_str().as_bytes()].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
        if lines.next()? != FORMAT {
            return None;
        }
        let mut text = || std::str::from_utf8(lines.next()?).ok();
        let pid = text()?.parse().ok()?;
        let born_unix_nanos = match text()? {
            "-" => None,
            nanos => Some(nanos.parse().ok()?),
        };
        let state = lines.next().filter(|state| !state.is_empty())?;
        Some(Self {
            born_unix_nanos,
            pid,
            state: PathBuf::from(OsStr::from_bytes(state)),
        })
    }
}

/// True if a stage in a scratch folder is that of a journal in the state folder. Its name has the random key of the journal, so no other state
/// folder began it.
fn has_stage_of(folder: &ScratchFolder, journal: &JournalFile) -> Result<bool, WorkTreeError> {
    let journals = journal.all();
    let journals = journals.map_err(|fault| place_error(journal.place(), fault))?;
    let names = folder.names()?;
    let mut stages = journals.iter().map(|(_, journal)| stage_name(journal));
    Ok(stages.any(|stage| names.contains(&stage)))
}

/// Reads the owner of a scratch folder; `None` if it has none.
fn read(folder: &ScratchFolder) -> Result<Option<Owner>, WorkTreeError> {
    let record = folder.owner();
    let path = folder.path.join(OWNER);
    let record = record.map_err(|fault| place_error(&path, fault))?;
    let Some(record) = record else {
        return Ok(None);
    };
    let is_whole = u64::try_from(record.len()).is_ok_and(|bytes| bytes < OWNER_BYTES);
    let owner = is_whole.then(|| Owner::parse(&record)).flatten();
    let owner = owner.ok_or_else(|| WorkTreeError::Record {
        path,
        reason: "not a record of a state folder; remove it if no other state folder has work here"
            .to_owned(),
    })?;
    Ok(Some(owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_damaged_one_is_not() {
        for born_unix_nanos in [None, Some(7)] {
            let owner = Owner {
                born_unix_nanos,
                pid: 12,
                state: PathBuf::from(OsStr::from_bytes(b"/a\n\xff/runs.db.work")),
            };
            let bytes = owner.to_bytes();
            assert_eq!(Owner::parse(&bytes), Some(owner));
            let rest = FORMAT.len() + 3;
            assert_eq!(Owner::parse(bytes.get(1..).unwrap()), None);
            assert_eq!(Owner::parse(bytes.get(..rest).unwrap()), None);
        }
    }
}
