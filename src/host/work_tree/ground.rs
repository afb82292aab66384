//! The two open folders between which steps move files, and the operations on them. Knows no plan.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use monolith_core::work::WorkPath;

use super::folder::{names, open_folder, parent_of};
use super::found::Found;
use super::ops::Ops;

/// The ending of a slot that holds an old file while two names cannot be exchanged at once.
const OLD: &str = ".old";

/// The work tree and the stage, a private folder on its file system. A slot of the stage holds one new or old file.
#[derive(Debug)]
pub(super) struct Ground<'g> {
    pub ops: Ops<'g>,
    pub root: BorrowedFd<'g>,
    pub stage: BorrowedFd<'g>,
}

/// A name in the tree: its open folder, and the name.
#[derive(Debug)]
pub(super) struct Place<'p> {
    folder: OwnedFd,
    name: &'p OsStr,
}

impl<'p> Place<'p> {
    pub(super) fn found(&self) -> rustix::io::Result<Option<Found>> {
        Found::at(self.folder.as_fd(), self.name)
    }

    pub(super) fn name(&self) -> &'p OsStr {
        self.name
    }

    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// True if it is a folder without entries.
    pub(super) fn is_empty_folder(&self) -> rustix::io::Result<bool> {
        Ok(names(open_folder(&self.folder, self.name)?)?.is_empty())
    }
}

/// The name of a slot.
pub(super) fn slot_name(slot: u32) -> OsString {
    OsString::from(slot.to_string())
}

fn old_name(slot: u32) -> OsString {
    OsString::from(format!("{slot}{OLD}"))
}

impl Ground<'_> {
    pub(super) fn place<'p>(&self, path: &'p WorkPath) -> rustix::io::Result<Place<'p>> {
        let (folder, name) = parent_of(self.root, path)?;
        Ok(Place { folder, name })
    }

    /// The file in a slot.
    pub(super) fn in_slot(&self, slot: u32) -> rustix::io::Result<Option<Found>> {
        Found::at(self.stage, &slot_name(slot))
    }

    /// Moves the file in a slot to a name that nothing has.
    pub(super) fn move_in(&self, slot: u32, place: &Place<'_>) -> io::Result<()> {
        let from = slot_name(slot);
        self.ops
            .rename((self.stage, &from), (place.folder(), place.name))
    }

    /// Moves a file of the tree into an empty slot.
    pub(super) fn move_out(&self, place: &Place<'_>, slot: u32) -> io::Result<()> {
        let to = slot_name(slot);
        self.ops
            .rename((place.folder(), place.name), (self.stage, &to))
    }

    /// Exchanges a file of the tree with that of a slot.
    pub(super) fn exchange(&self, place: &Place<'_>, slot: u32) -> io::Result<()> {
        let (name, old) = (slot_name(slot), old_name(slot));
        let in_tree = (place.folder(), place.name);
        if self.ops.exchange(in_tree, (self.stage, &name))? {
            return Ok(());
        }
        self.ops.rename(in_tree, (self.stage, &old))?;
        self.ops.rename((self.stage, &name), in_tree)?;
        self.ops.rename((self.stage, &old), (self.stage, &name))
    }

    /// True if an exchange in three renames was cut off.
    pub(super) fn is_cut_off(&self, slot: u32) -> rustix::io::Result<bool> {
        Ok(Found::at(self.stage, &old_name(slot))?.is_some())
    }

    /// Completes or takes back an exchange in three renames that was cut off; false if something else has the name since, so that the old
    /// file cannot leave the stage.
    pub(super) fn settle_exchange(&self, place: &Place<'_>, slot: u32) -> io::Result<bool> {
        let (name, old) = (slot_name(slot), old_name(slot));
        if !self.is_cut_off(slot)? {
            return Ok(true);
        }
        if self.in_slot(slot)?.is_none() {
            self.ops.rename((self.stage, &old), (self.stage, &name))?;
            return Ok(true);
        }
        if place.found()?.is_some() {
            return Ok(false);
        }
        let in_tree = (place.folder(), place.name);
        self.ops.rename((self.stage, &old), in_tree)?;
        Ok(true)
    }
}
