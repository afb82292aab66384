//! The file changes of a run, taken back: each file that nothing else has changed since gets its earlier content.

use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::error::undo::UndoFault;
use crate::run_status::RunStatus;
use crate::service::Service;
use crate::source::Source;
use crate::view::departure::verified_view;
use monolith_core::message::{Digest, RunId};
use monolith_core::view::RunView;
use monolith_host::store::{ReadKept, StoreError, StoreReader};
use monolith_host::tools::{Restored, RestoredFolder};

/// The tool that runs commands.
const SHELL: &str = "shell";

/// The restored files of a run.
#[derive(Debug)]
pub struct Undone {
    /// Changes of its child runs, or the error that hides them.
    pub below: Result<Vec<ChangedBelow>, ServiceError>,
    /// Files that the run changed.
    pub files: Vec<UndoneFile>,
    /// True if more files may have changed than the run recorded.
    pub may_be_more: bool,
    /// Run whose changes were taken back.
    pub run_id: RunId,
    /// True if the run called the `shell` tool.
    pub used_shell: bool,
    /// Tools of servers whose changes are not known.
    pub unstated: Vec<String>,
}

/// A file that a run changed.
#[derive(Debug)]
pub struct UndoneFile {
    /// Path in the workspace.
    pub path: String,
    /// The result; `None` if something else changed the file between two changes of the run.
    pub restored: Option<Restored>,
}

/// The changes of a child run, which are taken back on their own.
#[derive(Debug)]
pub struct ChangedBelow {
    /// The changes, or the error that hides them.
    pub changes: Result<ChangesBelow, ServiceError>,
    /// The child run.
    pub run_id: RunId,
}

/// The changes of a child run.
#[derive(Debug)]
pub struct ChangesBelow {
    /// True if files can be restored.
    pub can_undo: bool,
    /// Tools of servers whose changes are not known.
    pub unstated: Vec<String>,
}

/// Restores the files that a run changed, or with `dry_run` says what would be done.
///
/// # Errors
///
/// There is no such run, a process drives it, it does not verify, or its workspace is not as it was.
pub fn undo(service: &Service, asked: &str, dry_run: bool) -> Result<Undone, ServiceError> {
    let Source::Run(run_id, mut reader) = service.run(asked)? else {
        let asked = asked.to_owned();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let row = reader.read_run(&run_id)?.row().clone();
    if let Some(RunStatus::Running { .. }) = RunStatus::of(&mut reader, &row)? {
        return Err(UndoFault::Running { run_id }.into());
    }
    let store = service.store_path()?;
    let below = changed_below(service, &store, &mut reader, &run_id);
    drop(reader);
    let view = verified_view(service, run_id.as_str())?;
    let mut files = Vec::new();
    if view.work_changes().files().next().is_some() {
        let kept = ReadKept::of(&store, &run_id).map_err(|fault| UndoFault::Unreadable {
            reason: fault.to_string(),
            run_id: run_id.clone(),
        })?;
        let Some(mut kept) = kept else {
            return Err(UndoFault::NothingKept { run_id }.into());
        };
        let folder = workspace(&view, &run_id, kept.workspace())?;
        let opened = RestoredFolder::open(folder.clone(), service.withheld()?);
        let opened = opened.map_err(|fault| UndoFault::Workspace {
            path: folder.clone(),
            reason: fault.to_string(),
            run_id: run_id.clone(),
        })?;
        for (path, change) in view.work_changes().files() {
            let restored = (!change.interleaved).then(|| {
                let hashes = (change.before, change.after);
                let mode = change.before.and_then(|hash| kept.mode(hash));
                opened.restore(path, hashes, |hash| kept.content(hash), mode, dry_run)
            });
            files.push(UndoneFile {
                path: path.to_owned(),
                restored,
            });
        }
    }
    Ok(Undone {
        below,
        files,
        may_be_more: view.may_have_changed_more(),
        used_shell: view.calls().values().any(|call| call.name == SHELL),
        unstated: unstated(&view),
        run_id,
    })
}

fn unstated(view: &RunView) -> Vec<String> {
    let tools = view.unstated_changes().into_iter();
    tools.map(str::to_owned).collect()
}

/// The child runs that changed files, and what hides the changes of others. Nothing that is wrong there keeps a file from being restored.
fn changed_below(
    service: &Service,
    store: &Path,
    reader: &mut StoreReader,
    run_id: &RunId,
) -> Result<Vec<ChangedBelow>, ServiceError> {
    let mut below = Vec::new();
    for run_id in reader.runs_below(run_id)? {
        // A run without kept contents cannot be restored.
        let kept = !matches!(ReadKept::of(store, &run_id), Ok(None));
        let source = service.source(run_id.as_str());
        let changes = match source.and_then(|source| source.each_step(|_, _, _| Ok(()))) {
            Err(_) if !kept => continue,
            read => read.map(|view| ChangesBelow {
                can_undo: kept && view.work_changes().files().next().is_some(),
                unstated: unstated(&view),
            }),
        };
        below.push(ChangedBelow { changes, run_id });
    }
    Ok(below)
}

/// The folder that the run committed to, if it is still there.
fn workspace(view: &RunView, run_id: &RunId, kept: &Path) -> Result<PathBuf, UndoFault> {
    let committed = view.start().and_then(|start| start.workspace);
    let refuse = |reason: &str| UndoFault::Workspace {
        path: kept.to_owned(),
        reason: reason.to_owned(),
        run_id: run_id.clone(),
    };
    if committed != Some(Digest::of(kept.as_os_str().as_encoded_bytes())) {
        return Err(refuse("it is not the folder that the run recorded"));
    }
    match kept.canonicalize() {
        Ok(now) if now == kept => Ok(now),
        Ok(_) => Err(refuse("a link stands in its place now")),
        Err(fault) => Err(refuse(&fault.to_string())),
    }
}
