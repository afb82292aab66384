//! Faults of taking back what a run did to files.

use std::path::PathBuf;

use crate::error::advice::Advice;
use crate::exit::Exit;
use monolith_core::message::RunId;

/// No file was restored.
#[derive(Debug, thiserror::Error)]
pub enum UndoFault {
    /// The caller: a process still drives the run.
    #[error("undo run {run_id}: a process is still driving it")]
    Running { run_id: RunId },
    /// The caller: what the files held is not here.
    #[error("undo run {run_id}: the earlier content of its files is not kept here")]
    NothingKept { run_id: RunId },
    /// The operator: what was kept cannot be read.
    #[error("undo run {run_id}: the earlier content of its files cannot be read: {reason}")]
    Unreadable { reason: String, run_id: RunId },
    /// The operator: the folder of the files is not there as it was.
    #[error("undo run {run_id}: its workspace {} cannot be opened: {reason}", path.display())]
    Workspace {
        path: PathBuf,
        reason: String,
        run_id: RunId,
    },
}

impl Advice for UndoFault {
    fn exit(&self) -> Exit {
        match self {
            Self::Running { .. } | Self::NothingKept { .. } => Exit::USAGE,
            Self::Unreadable { .. } | Self::Workspace { .. } => Exit::FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Running { .. } => "wait for its end, or stop it",
            Self::NothingKept { .. } => {
                "it is kept where the run was driven, until the run is deleted; monolith show RUN lists the files with their hashes"
            }
            Self::Unreadable { .. } | Self::Workspace { .. } => return None,
        };
        Some(text.to_owned())
    }
}
