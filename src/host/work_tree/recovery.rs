//! The recovery of a publication that a killed process left half done, and the root that it belongs to. Publishes nothing new.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::UNIX_EPOCH;

use monolith_core::work::WorkPath;
use rustix::io::Errno;

use super::blobs::Blobs;
use super::error::WorkTreeError;
use super::found::Found;
use super::gate::Gate;
use super::journal::{JournalFile, Purpose};
use super::ops::Ops;
use super::publisher::{Publisher, end_without_stage};
use super::scratch_folder::ScratchFolder;
use super::withheld::Withheld;

/// A publication that a killed process left half done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The id that its caller gave it.
    pub id: String,
    /// True if it is complete now; false if it was taken back.
    pub is_complete: bool,
    /// Paths that something else changed meanwhile. They stay as they are.
    pub left: Vec<WorkPath>,
    /// Its purpose.
    pub purpose: Purpose,
}

/// The root of a work tree.
#[derive(Debug)]
pub(super) struct Root {
    /// The time at which the folder was made, where the file system tells. A folder that is made later may get its inode.
    pub born_unix_nanos: Option<u64>,
    pub folder: OwnedFd,
    pub found: Found,
}

impl Root {
    pub(super) fn new(folder: OwnedFd) -> std::io::Result<Self> {
        let found = Found::of_open(&folder)?;
        let file = std::fs::File::from(folder.try_clone()?);
        let born = file.metadata()?.created().ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            born_unix_nanos: born.and_then(|born| u64::try_from(born.as_nanos()).ok()),
            folder,
            found,
        })
    }

    pub(super) fn at(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// Completes or takes back what a killed process left half done.
pub(super) fn recover(
    (root, path): (&Root, &Path),
    journal_file: &JournalFile,
    blobs: &Blobs,
    gate: &dyn Gate,
) -> Result<Option<Recovered>, WorkTreeError> {
    let Some((journal, direction)) = journal_file.read()? else {
        return Ok(None);
    };
    let folders = ScratchFolder::existing(path, &root.found)?;
    let mut folders = folders.iter();
    let (is_complete, left) =
        if let Some(scratch) = folders.find(|folder| folder.is_inside == journal.is_inside) {
            let publisher = Publisher {
                blobs,
                born_unix_nanos: root.born_unix_nanos,
                gate,
                root: root.at(),
                scratch,
                withheld: &Withheld::default(),
            };
            publisher.recover((&journal, direction), journal_file)?
        } else {
            let place = ScratchFolder::place(path, &root.found, journal.is_inside);
            let (root, files) = ((root.at(), place.as_path()), (journal_file, Ops(gate)));
            let is_complete = end_without_stage(root, Errno::NOENT, &journal, files)?;
            (is_complete, Vec::new())
        };
    Ok(Some(Recovered {
        id: journal.id,
        is_complete,
        left,
        purpose: journal.purpose,
    }))
}
