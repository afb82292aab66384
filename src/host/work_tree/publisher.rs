//! Publishes changes to a work tree: all of them or none, whenever the process is killed. Knows no item.
//!
//! ```text
//! plan ─▶ stage (new files, synced) ─▶ journal (synced) ─▶ steps ─▶ modes ─▶ sync ─▶ journal done ─▶ stage removed
//!                                         │ killed from here on: the next process completes the steps
//!                                         └ an error: the journal turns, and the steps are taken back
//! ```

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use monolith_core::work::{PathChange, WorkPath};
use rustix::io::Errno;

use super::blobs::Blobs;
use super::error::WorkTreeError;
use super::folder::{hold, io_error, look, open_folder, parent_of, place_error};
use super::found::{Found, Kind};
use super::gate::Gate;
use super::ground::Ground;
use super::journal::{Direction, FolderMode, Journal, JournalFile, Purpose};
use super::ops::Ops;
use super::plan::{Plan, is_open};
use super::removal::remove_tree;
use super::scratch_folder::{KEPT, STAGE, ScratchFolder};
use super::stage::Stager;
use super::step::{Action, OWNER, Outcome, StepError};
use super::withheld::Withheld;

/// Folders above the scratch folder of a tree which may be new: the one of all trees, and the one that holds it.
const ABOVE: usize = 2;

/// A work tree and all that publishing needs.
#[derive(Debug)]
pub(super) struct Publisher<'p> {
    pub blobs: &'p Blobs,
    /// The time at which the root was made, where that is known.
    pub born_unix_nanos: Option<u64>,
    pub gate: &'p dyn Gate,
    pub root: BorrowedFd<'p>,
    pub scratch: &'p ScratchFolder,
    pub withheld: &'p Withheld,
}

/// Changes that reached the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Folders that stay although the changes remove them: they hold files that are no part of the tree.
    pub kept: Vec<WorkPath>,
}

/// The error of the steps.
enum Failure {
    Conflict(WorkPath),
    Io(WorkTreeError),
}

impl Publisher<'_> {
    /// Publishes changes, sorted by path, with a journal.
    pub(super) fn publish(
        &self,
        (id, purpose): (&str, Purpose),
        changes: &[PathChange],
        journal_file: &JournalFile,
    ) -> Result<Published, WorkTreeError> {
        let ops = Ops(self.gate);
        let plan = self.plan(changes)?;
        if plan.steps.is_empty() && plan.modes.is_empty() {
            let kept = plan.kept;
            return Ok(Published { kept });
        }
        let mut journal = self.journal((id, purpose))?;
        let name = stage_name(&journal);
        let stage = self.staged(&name, &plan, &mut journal);
        let written = stage.and_then(|stage| {
            let refuse = |fault| place_error(&self.scratch.path, fault);
            ops.sync_folder(&stage).map_err(refuse)?;
            ops.sync_path(self.scratch.at(), ABOVE).map_err(refuse)?;
            journal_file.write(&journal, ops).map_err(refuse)?;
            Ok(stage)
        });
        let stage = match written {
            Ok(stage) => stage,
            Err(error) => {
                // The tree is untouched. The rest of a stage is removed by the next process at the latest.
                let _turned = journal_file.turn_back(ops);
                let cleared = journal_file.clear(ops);
                if cleared.is_err() && !matches!(journal_file.read(), Ok(None)) {
                    return Err(not_rolled_back(&error.to_string()));
                }
                let _left = remove_tree(ops, self.scratch.at(), &name);
                return Err(rolled_back(error));
            }
        };
        let ground = self.ground(stage.as_fd());
        match forward(&ground, &journal) {
            Ok(left) => {
                // A journal that stays is followed again, without effect.
                if journal_file.finish(&journal, ops).is_ok() {
                    let _left = remove_tree(ops, self.scratch.at(), &name);
                }
                let mut kept = [plan.kept, left].concat();
                kept.sort();
                Ok(Published { kept })
            }
            Err(failure) => {
                let left = self.roll_back(&ground, &journal, journal_file)?;
                match failure {
                    Failure::Conflict(path) if left.is_empty() => {
                        Err(WorkTreeError::Conflict { paths: vec![path] })
                    }
                    Failure::Conflict(path) => {
                        Err(self.with_left(&left, &kept_name(&journal), &path.to_string()))
                    }
                    Failure::Io(error) if left.is_empty() => Err(rolled_back(error)),
                    Failure::Io(error) => {
                        Err(self.with_left(&left, &kept_name(&journal), &error.to_string()))
                    }
                }
            }
        }
    }

    /// Applies changes to a tree that nothing else uses, without a journal: a copy for tests.
    pub(super) fn apply(&self, id: &str, changes: &[PathChange]) -> Result<(), WorkTreeError> {
        let plan = self.plan(changes)?;
        let mut journal = self.journal((id, Purpose::Publish))?;
        let name = stage_name(&journal);
        let stage = self.staged(&name, &plan, &mut journal)?;
        let applied = forward(&self.ground(stage.as_fd()), &journal);
        let removed = remove_tree(Ops(self.gate), self.scratch.at(), &name);
        match applied {
            Ok(_left) => removed.map_err(|fault| place_error(&self.scratch.path, fault)),
            Err(Failure::Conflict(path)) => Err(WorkTreeError::Conflict { paths: vec![path] }),
            Err(Failure::Io(error)) => Err(error),
        }
    }

    /// Completes or takes back a publication whose process was killed. Returns true if it is complete, and the paths that something else
    /// changed meanwhile.
    pub(super) fn recover(
        &self,
        (journal, direction): (&Journal, Direction),
        journal_file: &JournalFile,
    ) -> Result<(bool, Vec<WorkPath>), WorkTreeError> {
        let ops = Ops(self.gate);
        let name = stage_name(journal);
        let at = self.scratch.at();
        let (stage, is_kept) = match open_folder(at, &name) {
            // The roll-back had come to its end.
            Err(Errno::NOENT) => (open_folder(at, &kept_name(journal)), true),
            opened => (opened, false),
        };
        let stage = match stage {
            Ok(stage) => stage,
            Err(fault) => {
                let place = self.scratch.path.as_path();
                let is_complete =
                    end_without_stage((self.root, place), fault, journal, (journal_file, ops))?;
                return Ok((is_complete, Vec::new()));
            }
        };
        let ground = self.ground(stage.as_fd());
        if direction == Direction::Forward
            && !is_kept
            && let Ok(left) = forward(&ground, journal)
        {
            let finished = journal_file.finish(journal, ops);
            finished.map_err(|fault| not_rolled_back(&fault.to_string()))?;
            let _left = remove_tree(ops, self.scratch.at(), &name);
            return Ok((true, left));
        }
        let left = self.roll_back(&ground, journal, journal_file)?;
        Ok((false, left))
    }

    fn plan<'c>(&'c self, changes: &'c [PathChange]) -> Result<Plan<'c>, WorkTreeError> {
        let names = (self.scratch.has_case, self.withheld);
        Plan::new(self.root, changes, names).map_err(conflicting)
    }

    fn journal(&self, named: (&str, Purpose)) -> Result<Journal, WorkTreeError> {
        let journal = Journal::new(named, self.scratch.is_inside, self.born_unix_nanos);
        journal.map_err(|fault| place_error(&self.scratch.path, fault))
    }

    fn ground<'g>(&'g self, stage: BorrowedFd<'g>) -> Ground<'g> {
        Ground {
            ops: Ops(self.gate),
            root: self.root,
            stage,
        }
    }

    /// Fills a stage, and the journal with its steps.
    fn staged(
        &self,
        name: &OsStr,
        plan: &Plan<'_>,
        journal: &mut Journal,
    ) -> Result<OwnedFd, WorkTreeError> {
        let ops = Ops(self.gate);
        let made = remove_tree(ops, self.scratch.at(), name)
            .and_then(|()| ops.create_folder(self.scratch.at(), name))
            .and_then(|()| Ok(open_folder(self.scratch.at(), name)?));
        let stage = made.map_err(|fault| place_error(&self.scratch.path, fault))?;
        let ground = self.ground(stage.as_fd());
        let stager = Stager {
            blobs: self.blobs,
            ground: &ground,
        };
        journal.modes.clone_from(&plan.modes);
        journal.steps = stager.prepare(&plan.steps)?;
        Ok(stage)
    }

    /// Takes the steps back. Returns the paths that something else changed meanwhile, which stay.
    fn roll_back(
        &self,
        ground: &Ground<'_>,
        journal: &Journal,
        journal_file: &JournalFile,
    ) -> Result<Vec<WorkPath>, WorkTreeError> {
        let ops = ground.ops;
        // Without it the next process would complete the steps that this one fails to take back.
        let _turned = journal_file.turn_back(ops);
        let name = stage_name(journal);
        let at = self.scratch.at();
        let taken_back = backward(ground, journal).and_then(|left| {
            // A stage without a journal is removed by the next process.
            if !left.is_empty() && Found::at(at, &name)?.is_some() {
                ops.rename((at, &name), (at, &kept_name(journal)))?;
                ops.sync_folder(at)?;
            }
            journal_file.clear(ops).map(|()| left)
        });
        let left = taken_back.map_err(|fault| not_rolled_back(&fault.to_string()))?;
        if left.is_empty() {
            let _left = remove_tree(ops, at, &name);
        }
        Ok(left)
    }

    fn with_left(&self, left: &[WorkPath], kept: &OsStr, reason: &str) -> WorkTreeError {
        let place = self.scratch.path.join(kept);
        let paths: Vec<_> = left.iter().map(ToString::to_string).collect();
        let (paths, place) = (paths.join(", "), place.display());
        let reason = format!(
            "{reason}; something else changed {paths} meanwhile, so they stay, and their old files are in {place}"
        );
        WorkTreeError::RolledBack { reason }
    }
}

/// The name of a stage.
pub(super) fn stage_name(journal: &Journal) -> OsString {
    let Journal { id, key, .. } = journal;
    OsString::from(format!("{id}-{key}{STAGE}"))
}

/// The name of a stage that is kept. An item may leave several.
fn kept_name(journal: &Journal) -> OsString {
    let Journal { id, key, .. } = journal;
    OsString::from(format!("{id}-{key}{KEPT}"))
}

/// Ends a publication whose stage cannot be opened: it is gone once all steps are taken, or none is. True if they are taken.
pub(super) fn end_without_stage(
    (root, scratch): (BorrowedFd<'_>, &Path),
    fault: Errno,
    journal: &Journal,
    (journal_file, ops): (&JournalFile, Ops<'_>),
) -> Result<bool, WorkTreeError> {
    let has_ended = |end| match fault {
        Errno::NOENT => is_at(root, journal, end),
        _ => Ok(false),
    };
    let is_complete = has_ended(Direction::Forward)?;
    if !is_complete && !has_ended(Direction::Back)? {
        let stage = scratch.join(stage_name(journal));
        let (stage, place) = (stage.display(), journal_file.place().display());
        let words = format!(
            "{stage}: {fault}; put the folder back, or remove the journal in {place} to keep the work tree as it is"
        );
        return Err(not_rolled_back(&words));
    }
    let ended = if is_complete {
        journal_file.finish(journal, ops)
    } else {
        journal_file.clear(ops)
    };
    ended.map_err(|fault| not_rolled_back(&fault.to_string()))?;
    Ok(is_complete)
}

/// Takes every step that is not taken. Returns the paths that stay as something else left them.
fn forward(ground: &Ground<'_>, journal: &Journal) -> Result<Vec<WorkPath>, Failure> {
    let failed = |path: &WorkPath, fault: io::Error| Failure::Io(io_error(path, fault));
    let folder_failed = |fault: io::Error| {
        let path = "a folder of the work tree".to_owned();
        Failure::Io(WorkTreeError::Io { path, fault })
    };
    open_modes(ground, &journal.modes).map_err(folder_failed)?;
    let mut left = Vec::new();
    for step in &journal.steps {
        match step.apply(ground) {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Left) => left.push(step.path.clone()),
            Err(StepError::Conflict) => return Err(Failure::Conflict(step.path.clone())),
            Err(StepError::Io(fault)) => return Err(failed(&step.path, fault)),
        }
    }
    let foreign = foreign_mode(ground.root, &journal.modes).map_err(folder_failed)?;
    if let Some(path) = foreign {
        return Err(Failure::Conflict(path));
    }
    close_modes(ground, &journal.modes, Direction::Forward).map_err(folder_failed)?;
    sync(ground, journal).map_err(folder_failed)?;
    Ok(left)
}

/// Takes every step back that is taken, the last one first.
fn backward(ground: &Ground<'_>, journal: &Journal) -> io::Result<Vec<WorkPath>> {
    open_modes(ground, &journal.modes)?;
    let mut left = Vec::new();
    for step in journal.steps.iter().rev() {
        if step.undo(ground)? == Outcome::Left {
            left.push(step.path.clone());
        }
    }
    close_modes(ground, &journal.modes, Direction::Back)?;
    sync(ground, journal)?;
    Ok(left)
}

/// True if all steps are taken, or none is: a publication that needs no stage any more.
fn is_at(root: BorrowedFd<'_>, journal: &Journal, end: Direction) -> Result<bool, WorkTreeError> {
    for step in &journal.steps {
        let found = look(root, &step.path).map_err(|fault| io_error(&step.path, fault))?;
        let has = |file: &Found| found.is_some_and(|found| found.is_same_file(file));
        let is_folder = found.is_some_and(|found| found.kind == Kind::Folder);
        let is_there = match (&step.action, end) {
            (Action::Enter { new } | Action::Swap { new, .. }, Direction::Forward) => has(new),
            (Action::Leave { old }, Direction::Forward) => !has(old),
            (Action::RemoveFolder, Direction::Forward) => !is_folder,
            (Action::Enter { new }, Direction::Back) => !has(new),
            (Action::Leave { old } | Action::Swap { old, .. }, Direction::Back) => has(old),
            (Action::RemoveFolder, Direction::Back) => is_folder,
        };
        if !is_there {
            return Ok(false);
        }
    }
    for mode in &journal.modes {
        let target = mode.target(end);
        let folder = folder_at(root, mode.path.as_ref());
        let folder = folder.map_err(|fault| WorkTreeError::Io {
            path: "a folder of the work tree".to_owned(),
            fault,
        })?;
        if let (Some(target), Some((.., found))) = (target, folder)
            && found.mode != target
            && !mode.is_foreign(found.mode)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A folder of the tree and its name in the folder above; the root's name is `.`.
fn folder_at<'f>(
    root: BorrowedFd<'_>,
    path: Option<&'f WorkPath>,
) -> io::Result<Option<(OwnedFd, &'f OsStr, Found)>> {
    let parent = match path {
        Some(path) => parent_of(root, path),
        None => hold(root, OsStr::new(".")).map(|root| (root, OsStr::new("."))),
    };
    let (parent, name) = match parent {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        parent => parent?,
    };
    let found = Found::at(parent.as_fd(), name)?;
    let folder = found.filter(|found| found.kind == Kind::Folder);
    Ok(folder.map(|found| (parent, name, found)))
}

/// Opens the folders whose entries change, those above first.
fn open_modes(ground: &Ground<'_>, modes: &[FolderMode]) -> io::Result<()> {
    for mode in modes {
        let Some((parent, name, found)) = folder_at(ground.root, mode.path.as_ref())? else {
            continue;
        };
        if !mode.is_foreign(found.mode) && !is_open(hold(&parent, name)?.as_fd()) {
            ground.ops.set_mode(&parent, name, found.mode | OWNER)?;
        }
    }
    Ok(())
}

/// The first folder whose mode changes, and has a mode that something else has set.
fn foreign_mode(root: BorrowedFd<'_>, modes: &[FolderMode]) -> io::Result<Option<WorkPath>> {
    for mode in modes.iter().filter(|mode| mode.before != mode.after) {
        let folder = folder_at(root, mode.path.as_ref())?;
        if folder.is_some_and(|(.., found)| mode.is_foreign(found.mode)) {
            return Ok(mode.path.clone());
        }
    }
    Ok(None)
}

/// Gives the folders their modes, those below first. A mode that something else has set stays.
fn close_modes(ground: &Ground<'_>, modes: &[FolderMode], end: Direction) -> io::Result<()> {
    for mode in modes.iter().rev() {
        let Some(target) = mode.target(end) else {
            continue;
        };
        let Some((parent, name, found)) = folder_at(ground.root, mode.path.as_ref())? else {
            continue;
        };
        if found.mode != target && !mode.is_foreign(found.mode) {
            ground.ops.set_mode(&parent, name, target)?;
        }
    }
    Ok(())
}

/// Waits until the disk has every changed folder.
fn sync(ground: &Ground<'_>, journal: &Journal) -> io::Result<()> {
    let parents = journal.steps.iter().map(|step| step.path.parent());
    let changed = journal.modes.iter().map(|mode| mode.path.clone());
    let folders: BTreeSet<_> = parents.chain(changed).collect();
    for folder in &folders {
        let Some((parent, name, _)) = folder_at(ground.root, folder.as_ref())? else {
            continue;
        };
        match ground.ops.sync_folder(hold(&parent, name)?) {
            // Its new mode keeps its owner from reading it.
            Err(fault) if fault.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// A path that something else changed after it was compared is a conflict.
fn conflicting(error: WorkTreeError) -> WorkTreeError {
    match error {
        WorkTreeError::Moved { path } => WorkTreeError::Conflict { paths: vec![path] },
        other => other,
    }
}

/// The error of a publication that changed nothing: the disk's errors say so.
fn rolled_back(error: WorkTreeError) -> WorkTreeError {
    match conflicting(error) {
        error @ WorkTreeError::Io { .. } => WorkTreeError::RolledBack {
            reason: error.to_string(),
        },
        other => other,
    }
}

fn not_rolled_back(reason: &str) -> WorkTreeError {
    WorkTreeError::RollBackFailed {
        reason: reason.to_owned(),
    }
}
