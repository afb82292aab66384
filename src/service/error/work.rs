//! Faults of work items: their file, their tree, their receipts.

use std::path::{Path, PathBuf};

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::text::command::shell_word;
use monolith_core::message::RunId;
use monolith_host::work_tree::WorkTreeError;

/// Work items that are not run, or a receipt that is not there.
#[derive(Debug, thiserror::Error)]
pub enum WorkFault {
    /// The author: an agent of the file is a workflow.
    #[error("run item `{item}`: {} is a workflow, and an item is done by one agent", path.display())]
    AgentIsWorkflow { item: String, path: PathBuf },
    /// The author: the contract of an agent is not there.
    #[error("read the contract {} of agent `{agent}`: {reason}", path.display())]
    NoAgent {
        agent: String,
        path: PathBuf,
        reason: String,
    },
    /// The author: the work tree is not there.
    #[error("read {}: work_tree: {}: {reason}", file.display(), path.display())]
    NoTree {
        file: PathBuf,
        path: PathBuf,
        reason: String,
    },
    /// The operator: another item is under way in the process that asked, or its files are gone.
    #[error("resume item `{item}`: {reason}")]
    NotResumed { item: String, reason: String },
    /// The author: a dependency outside of the file has not succeeded in this tree.
    #[error(
        "run item `{item}`: `{dependency}` is not in the file, and no receipt of its success is true for this tree"
    )]
    NoDependency { dependency: String, item: String },
    /// The caller: there is no such receipt.
    #[error("find the receipt `{asked}`")]
    NoReceipt { asked: String },
    /// The caller: several receipts begin so.
    #[error("find the receipt `{asked}`: {count} receipts begin so")]
    AmbiguousReceipt { asked: String, count: usize },
    /// The caller: the output of its tests is not kept.
    #[error("show the test output of receipt {id}: {reason}")]
    NoTestOutput { id: String, reason: &'static str },
    /// The caller: the receipt came from elsewhere, and its work tree is unknown.
    #[error("thaw receipt {id}: its work tree is not known here")]
    NoWorkTree { id: String },
    /// The caller: an unfinished item reads the receipt of that one.
    #[error("delete run {work_id}: the unfinished item `{item}` reconciles it")]
    Reconciled {
        file: Option<PathBuf>,
        item: String,
        work_id: RunId,
    },
    /// The caller: the item has no end, so it may be resumed.
    #[error("delete run {work_id}: it has not ended")]
    Unended {
        file: Option<PathBuf>,
        work_id: RunId,
    },
    /// The caller: a publication of the item has begun, and the item has no receipt.
    #[error("delete run {work_id}: its change may be in the work tree, and it has no receipt yet")]
    Unsettled {
        file: Option<PathBuf>,
        work_id: RunId,
    },
    /// The caller: the item changed nothing.
    #[error("{action} receipt {id}: its item published nothing")]
    NothingPublished { action: &'static str, id: String },
    /// The operator: a file of the receipt cannot be read or written.
    #[error("use {}: {reason}", path.display())]
    Receipt { path: PathBuf, reason: String },
    /// The operator: stopped by a signal.
    #[error("replay receipt {id}: interrupted")]
    Interrupted { id: String },
    /// The operator: contents that the replay needs are not kept here.
    #[error("replay receipt {id}: {reason}")]
    Replay { id: String, reason: String },
    /// The file layer.
    #[error("use the work tree: {0}")]
    Tree(#[from] WorkTreeError),
    /// The author: a path that contracts cannot name.
    #[error("use {}: its name is not UTF-8", path.display())]
    Unnameable { path: PathBuf },
    /// The author: the file of items cannot be read.
    #[error("read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
}

impl Advice for WorkFault {
    fn exit(&self) -> Exit {
        match self {
            Self::AgentIsWorkflow { .. }
            | Self::AmbiguousReceipt { .. }
            | Self::NoAgent { .. }
            | Self::NoDependency { .. }
            | Self::NoReceipt { .. }
            | Self::NoTestOutput { .. }
            | Self::NoTree { .. }
            | Self::NoWorkTree { .. }
            | Self::NothingPublished { .. }
            | Self::Reconciled { .. }
            | Self::Tree(WorkTreeError::Unfit { .. } | WorkTreeError::Unsupported)
            | Self::Unended { .. }
            | Self::Unnameable { .. }
            | Self::Unreadable { .. }
            | Self::Unsettled { .. } => Exit::USAGE,
            Self::Interrupted { .. }
            | Self::NotResumed { .. }
            | Self::Receipt { .. }
            | Self::Replay { .. }
            | Self::Tree(_) => Exit::FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NoDependency { .. } => "run the file of that item first, or add it to this one",
            Self::NoAgent { .. } => {
                "paths of `agents` start in the folder of the file of items; name a file that is there"
            }
            Self::NoTree { .. } => {
                "name an existing folder; a relative path starts in the folder of the file of items"
            }
            Self::NoReceipt { .. } => "monolith work list names them",
            Self::AmbiguousReceipt { .. } => "give more of its characters",
            Self::Reconciled { file, .. } => {
                return Some(format!(
                    "{} ends that item first; --force deletes this one anyway, and then that item cannot be resumed",
                    run_of(file.as_deref())
                ));
            }
            Self::Unended { file, .. } => {
                return Some(format!(
                    "{} resumes it; --force deletes it as it is",
                    run_of(file.as_deref())
                ));
            }
            Self::Unsettled { file, .. } => {
                return Some(format!(
                    "run {} first: it completes or reverts the change, also if the file has changed",
                    run_of(file.as_deref())
                ));
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// The command that runs a file of items.
fn run_of(file: Option<&Path>) -> String {
    let file = file.map(|file| shell_word(&file.display().to_string()));
    let file = file.unwrap_or_else(|| "FILE".to_owned());
    format!("`monolith work run {file}`")
}
