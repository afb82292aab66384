//! One step of publishing: a rename between the work tree and the stage, and its reverse. A process that finds a step half done,
//! or not at all, tells so by looking where the new file is.

use std::io;

use monolith_core::work::WorkPath;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::found::{Found, Kind};
use super::ground::{Ground, Place};

/// The rights that changing the entries of a folder needs.
pub(super) const OWNER: u32 = 0o700;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub action: Action,
    pub path: WorkPath,
    /// The slot of the stage that holds the new file before, and the old one after.
    pub slot: u32,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Action {
    /// A new file, folder or link takes a name that nothing has.
    Enter { new: Found },
    /// A file or link leaves the tree.
    Leave { old: Found },
    /// An empty folder is removed. The slot holds an empty folder like it, which takes its place again on a roll-back.
    RemoveFolder,
    /// A file or link replaces another one.
    Swap { new: Found, old: Found },
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Something else changed the path meanwhile: it is left as it is.
    Left,
}

/// The error of a step.
#[derive(Debug)]
pub(super) enum StepError {
    /// The path is not as the plan found it.
    Conflict,
    Io(io::Error),
}

impl From<io::Error> for StepError {
    fn from(fault: io::Error) -> Self {
        Self::Io(fault)
    }
}

impl From<Errno> for StepError {
    fn from(fault: Errno) -> Self {
        Self::Io(fault.into())
    }
}

/// The progress of a step.
enum Progress {
    /// Half done, and something else has the name since.
    Blocked,
    Done,
    /// The new file is in neither place: something else replaced it after the step was done.
    Lost,
    NotDone,
}

impl Step {
    /// Takes the step, unless it is taken already.
    pub(super) fn apply(&self, ground: &Ground<'_>) -> Result<Outcome, StepError> {
        let place = match ground.place(&self.path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return self.judge_gone(ground),
            place => place?,
        };
        match self.progress(ground, &place)? {
            Progress::NotDone => {}
            Progress::Blocked => return Err(StepError::Conflict),
            Progress::Lost => return Ok(Outcome::Done),
            // The process may have been killed before it looked at the old file.
            Progress::Done => return self.judge_old(ground),
        }
        match &self.action {
            Action::Enter { .. } => match ground.move_in(self.slot, &place) {
                Err(fault) if is(&fault, Errno::EXIST) => Err(StepError::Conflict),
                moved => Ok(moved.map(|()| Outcome::Done)?),
            },
            Action::Leave { old } => {
                is_as_planned(place.found()?, old)?;
                ground.move_out(&place, self.slot)?;
                self.judge_old(ground)
            }
            Action::Swap { old, .. } => {
                is_as_planned(place.found()?, old)?;
                ground.exchange(&place, self.slot)?;
                self.judge_old(ground)
            }
            Action::RemoveFolder => {
                let removed = ground.ops.remove_folder(place.folder(), place.name());
                match removed {
                    // Something else put a file there: it must not go.
                    Err(fault) if is(&fault, Errno::NOTEMPTY) || is(&fault, Errno::EXIST) => {
                        Ok(Outcome::Left)
                    }
                    removed => Ok(removed.map(|()| Outcome::Done)?),
                }
            }
        }
    }

    /// Judges a step whose folder is gone. A later step of a publication that is completed now may have removed it.
    fn judge_gone(&self, ground: &Ground<'_>) -> Result<Outcome, StepError> {
        match &self.action {
            Action::Leave { .. } => self.judge_old(ground),
            Action::RemoveFolder => Ok(Outcome::Done),
            Action::Enter { .. } | Action::Swap { .. } => Err(StepError::Conflict),
        }
    }

    /// Finds a conflict where something wrote or replaced the old file between the look at it and the rename. The roll-back puts it back.
    fn judge_old(&self, ground: &Ground<'_>) -> Result<Outcome, StepError> {
        if let Action::Leave { old } | Action::Swap { old, .. } = &self.action {
            is_as_planned(ground.in_slot(self.slot)?, old)?;
        }
        Ok(Outcome::Done)
    }

    /// Takes the step back, unless it is not taken.
    pub(super) fn undo(&self, ground: &Ground<'_>) -> io::Result<Outcome> {
        let place = match ground.place(&self.path) {
            // Something else removed the folder, with all in it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                let holds_old = self.holds_old(ground)?;
                return Ok(if holds_old {
                    Outcome::Left
                } else {
                    Outcome::Done
                });
            }
            place => place?,
        };
        match self.progress(ground, &place)? {
            Progress::NotDone => return Ok(Outcome::Done),
            Progress::Blocked | Progress::Lost => return Ok(Outcome::Left),
            Progress::Done => {}
        }
        match &self.action {
            Action::Enter { new } | Action::Swap { new, .. } if !is_still(&place, new)? => {
                Ok(Outcome::Left)
            }
            Action::Enter { .. } => {
                ground.move_out(&place, self.slot)?;
                Ok(Outcome::Done)
            }
            Action::Swap { .. } => {
                ground.exchange(&place, self.slot)?;
                Ok(Outcome::Done)
            }
            Action::Leave { .. } | Action::RemoveFolder => {
                match ground.move_in(self.slot, &place) {
                    Err(fault) if is(&fault, Errno::EXIST) => Ok(Outcome::Left),
                    moved => moved.map(|()| Outcome::Done),
                }
            }
        }
    }

    /// True if the stage holds an old file of the step.
    fn holds_old(&self, ground: &Ground<'_>) -> io::Result<bool> {
        let in_slot = ground.in_slot(self.slot)?;
        Ok(match &self.action {
            Action::Enter { .. } | Action::RemoveFolder => false,
            Action::Leave { .. } => in_slot.is_some(),
            Action::Swap { new, .. } => {
                ground.is_cut_off(self.slot)?
                    || in_slot.is_none_or(|found| !found.is_same_file(new))
            }
        })
    }

    fn progress(&self, ground: &Ground<'_>, place: &Place<'_>) -> io::Result<Progress> {
        let is_swap = matches!(self.action, Action::Swap { .. });
        if is_swap && !ground.settle_exchange(place, self.slot)? {
            return Ok(Progress::Blocked);
        }
        let in_slot = ground.in_slot(self.slot)?;
        let progress = match &self.action {
            Action::Enter { new } | Action::Swap { new, .. } => {
                let is_new =
                    |found: Option<Found>| found.is_some_and(|found| found.is_same_file(new));
                if is_new(in_slot) {
                    Progress::NotDone
                } else if is_new(place.found()?) {
                    Progress::Done
                } else {
                    Progress::Lost
                }
            }
            Action::Leave { .. } if in_slot.is_some() => Progress::Done,
            Action::Leave { .. } => Progress::NotDone,
            Action::RemoveFolder => {
                let found = place.found()?;
                let is_folder = found.is_some_and(|found| found.kind == Kind::Folder);
                if in_slot.is_some() && !is_folder {
                    Progress::Done
                } else {
                    Progress::NotDone
                }
            }
        };
        Ok(progress)
    }
}

fn is_as_planned(found: Option<Found>, old: &Found) -> Result<(), StepError> {
    match found {
        Some(found) if found.is_like(old) => Ok(()),
        _ => Err(StepError::Conflict),
    }
}

/// True if nothing has changed the new file since, nor put anything into the new folder.
fn is_still(place: &Place<'_>, new: &Found) -> io::Result<bool> {
    match place.found()? {
        Some(found) if found.kind == Kind::Folder => Ok(place.is_empty_folder()?),
        Some(found) => Ok(found.is_like(new)),
        None => Ok(false),
    }
}

fn is(fault: &io::Error, errno: Errno) -> bool {
    fault.raw_os_error() == Some(errno.raw_os_error())
}
