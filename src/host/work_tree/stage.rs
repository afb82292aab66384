//! Fills the slots of a stage: every new file, folder and link of a plan, complete and on the disk before the first step.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;

use monolith_core::message::Digest;
use monolith_core::work::{TreeNode, WorkPath};
use rustix::process::getegid;

use super::blobs::Blobs;
use super::copy::{AttributeError, copy_attributes};
use super::error::WorkTreeError;
use super::folder::{hash_of, io_error, look, open_error, open_file, open_folder, parent_of};
use super::found::{Found, Kind};
use super::ground::{Ground, slot_name};
use super::ops::is_root;
use super::plan::Planned;
use super::step::{Action, Step};
use super::watch::StopCheck;

/// The bit of a folder's mode that gives its group to what is made in it.
const SET_GROUP: u32 = 0o2000;

/// Fills the slots.
#[derive(Debug)]
pub(super) struct Stager<'s> {
    pub blobs: &'s Blobs,
    pub ground: &'s Ground<'s>,
}

impl Stager<'_> {
    /// Prepares the steps of a plan, in their order.
    pub(super) fn prepare(&self, planned: &[Planned<'_>]) -> Result<Vec<Step>, WorkTreeError> {
        let mut steps = Vec::with_capacity(planned.len());
        for (slot, planned) in (0_u32..).zip(planned) {
            let action = self.action(slot, planned)?;
            let path = planned.path().clone();
            steps.push(Step { action, path, slot });
        }
        Ok(steps)
    }

    fn action(&self, slot: u32, planned: &Planned<'_>) -> Result<Action, WorkTreeError> {
        Ok(match planned {
            Planned::Leave { old, .. } => Action::Leave { old: *old },
            Planned::RemoveFolder { old, path } => {
                self.folder(slot, path, Some(old))?;
                Action::RemoveFolder
            }
            Planned::Enter { new, path } => {
                let new = self.node(slot, path, new, None)?;
                Action::Enter { new }
            }
            Planned::Swap {
                before,
                new,
                old,
                path,
            } => {
                let is_same = before.content() == new.content();
                let new = self.node(slot, path, new, Some((old, is_same)))?;
                Action::Swap { new, old: *old }
            }
        })
    }

    /// Makes a new node; `old` is the file that it replaces, and true if its content stays.
    fn node(
        &self,
        slot: u32,
        path: &WorkPath,
        node: &TreeNode,
        old: Option<(&Found, bool)>,
    ) -> Result<Found, WorkTreeError> {
        match node {
            TreeNode::Folder { .. } => self.folder(slot, path, None)?,
            TreeNode::File { content, mode, .. } => {
                self.file(slot, path, (*content, *mode), old)?;
            }
            TreeNode::Link { target } => self.link(slot, path, *target, old.map(|(old, _)| old))?,
        }
        let found = self.ground.in_slot(slot);
        let found = found.map_err(|fault| io_error(path, fault))?;
        found.ok_or_else(|| io_error(path, io::Error::from(io::ErrorKind::NotFound)))
    }

    fn file(
        &self,
        slot: u32,
        path: &WorkPath,
        (content, mode): (Digest, u32),
        old: Option<(&Found, bool)>,
    ) -> Result<(), WorkTreeError> {
        let refuse = |fault: io::Error| io_error(path, fault);
        let ops = self.ground.ops;
        let from = self.content(path, content)?;
        let mut file = ops.create(self.stage(), &slot_name(slot)).map_err(refuse)?;
        ops.copy(&from, &file).map_err(refuse)?;
        file.rewind().map_err(refuse)?;
        if hash_of(&file, StopCheck::NEVER).map_err(refuse)? != content {
            return Err(WorkTreeError::NoContent { path: path.clone() });
        }
        let owner = match old {
            Some((old, _)) => *old,
            None => self.owner_of_folder(path)?,
        };
        ops.set_owner(&file, &owner).map_err(refuse)?;
        if old.is_some_and(|(old, _)| old.kind == Kind::File) {
            let old = self.open_in_tree(path)?;
            copy_attributes(&old, &file).map_err(|error| refused(path, &error))?;
        }
        ops.set_open_mode(&file, mode).map_err(refuse)?;
        if let Some((old, true)) = old {
            ops.set_modified(&file, old).map_err(refuse)?;
        }
        ops.sync(&file).map_err(refuse)
    }

    fn link(
        &self,
        slot: u32,
        path: &WorkPath,
        target: Digest,
        old: Option<&Found>,
    ) -> Result<(), WorkTreeError> {
        let refuse = |fault: io::Error| io_error(path, fault);
        let mut bytes = Vec::new();
        let mut from = self.content(path, target)?;
        io::Read::read_to_end(&mut from, &mut bytes).map_err(refuse)?;
        if Digest::of(&bytes) != target {
            return Err(WorkTreeError::NoContent { path: path.clone() });
        }
        let (ops, name) = (self.ground.ops, slot_name(slot));
        let made = ops.create_link(self.stage(), &name, OsStr::from_bytes(&bytes));
        made.map_err(refuse)?;
        let owner = match old {
            Some(old) => *old,
            None => self.owner_of_folder(path)?,
        };
        let set = ops.set_link_owner(self.stage(), &name, &owner);
        set.map_err(refuse)
    }

    /// Makes an empty folder for its owner alone; the modes of folders are set last. It is like `old`, where there is one.
    fn folder(&self, slot: u32, path: &WorkPath, old: Option<&Found>) -> Result<(), WorkTreeError> {
        let refuse = |fault: io::Error| io_error(path, fault);
        let (ops, name) = (self.ground.ops, slot_name(slot));
        ops.create_folder(self.stage(), &name).map_err(refuse)?;
        let open = |folder: BorrowedFd<'_>, name: &OsStr| {
            let opened = open_folder(folder, name).map(File::from);
            opened.map_err(|fault| open_error(path, fault))
        };
        let folder = open(self.stage(), &name)?;
        let Some(old) = old else {
            let owner = self.owner_of_folder(path)?;
            return ops.set_owner(&folder, &owner).map_err(refuse);
        };
        ops.set_owner(&folder, old).map_err(refuse)?;
        let parent = parent_of(self.ground.root, path);
        let (parent, name) = parent.map_err(|fault| open_error(path, fault))?;
        let old = open(parent.as_fd(), name)?;
        copy_attributes(&old, &folder).map_err(|error| refused(path, &error))
    }

    fn content(&self, path: &WorkPath, digest: Digest) -> Result<File, WorkTreeError> {
        let opened = self
            .blobs
            .open(digest)
            .map_err(|fault| io_error(path, fault))?;
        opened.ok_or_else(|| WorkTreeError::NoContent { path: path.clone() })
    }

    fn open_in_tree(&self, path: &WorkPath) -> Result<File, WorkTreeError> {
        let refuse = |fault| open_error(path, fault);
        let (folder, name) = parent_of(self.ground.root, path).map_err(refuse)?;
        open_file(&folder, name).map_err(refuse)
    }

    /// The owner of a new path: that of the nearest folder above it which exists. Only root gives files to others, and only some folders
    /// pass on their group.
    fn owner_of_folder(&self, path: &WorkPath) -> Result<Found, WorkTreeError> {
        let refuse = |fault| io_error(path, fault);
        let mut nearest = Found::of_open(self.ground.root).map_err(refuse)?;
        let mut above = path.parent();
        while let Some(folder) = above {
            let found = look(self.ground.root, &folder).map_err(refuse)?;
            if let Some(found) = found.filter(|found| found.kind == Kind::Folder) {
                nearest = found;
                break;
            }
            above = folder.parent();
        }
        if !is_root() && nearest.mode & SET_GROUP == 0 {
            nearest.gid = getegid().as_raw();
        }
        Ok(nearest)
    }

    fn stage(&self) -> BorrowedFd<'_> {
        self.ground.stage
    }
}

fn refused(path: &WorkPath, error: &AttributeError) -> WorkTreeError {
    let AttributeError { fault, name } = error;
    WorkTreeError::Refused {
        path: path.clone(),
        reason: format!("its extended attribute {name:?} cannot be kept: {fault}; remove it first"),
    }
}
