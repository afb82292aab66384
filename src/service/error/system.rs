//! Faults of the system, and of the person at the terminal.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::advice::{Advice, OUR_BUG};
use crate::exit::Exit;
use crate::text::command::shell_word;
use crate::text::escape::line;
use monolith_core::message::RunId;
use monolith_core::transcript::TranscriptKind;

/// The system, or the person at the terminal, does not let the command go on.
#[derive(Debug, thiserror::Error)]
pub enum SystemFault {
    /// The caller: there is a file already.
    #[error("write {}: the file already exists", path.display())]
    FileExists { path: PathBuf },
    /// The caller: the file's ending stands for another form than the one that is asked for.
    #[error("write {}: its ending means --format {ending}, but --format {format} was given", path.display())]
    FormatAndEnding {
        ending: &'static str,
        format: &'static str,
        path: PathBuf,
    },
    /// The caller: the file's ending stands for no form, and none is asked for.
    #[error("write {}: no export format has the ending .{ending}", path.display())]
    UnknownEnding { ending: String, path: PathBuf },
    /// The caller: text that was held back is asked of a form that never holds it.
    #[error("export --withheld: --format {format} never contains withheld text")]
    NeverHoldsWithheld { format: &'static str },
    /// The caller: the form is made of runs alone.
    #[error("export {run_id}: a {kind} cannot be exported as {format}")]
    NoFormOf {
        format: &'static str,
        kind: TranscriptKind,
        run_id: RunId,
    },
    /// The caller: the files of a tree need a folder.
    #[error("export --tree: no folder given")]
    TreeWithoutFolder,
    /// The caller: a page for a browser would fill the terminal.
    #[error("write the page to a terminal")]
    PageOnTerminal,
    /// The caller: the question was not answered with yes.
    #[error("{what}: not confirmed")]
    NotConfirmed { what: &'static str },
    /// The caller: there is no terminal to ask at.
    #[error("{what}: not confirmed, and there is no terminal to ask at")]
    NotAsked { what: &'static str },
    /// The operator: a file cannot be written.
    #[error("write {}: {reason}", path.display())]
    CannotWrite { path: PathBuf, reason: String },
    /// The operator: the list of trusted contracts cannot be read.
    #[error("read the trusted contracts {}: {reason}", path.display())]
    UnreadableTrust { path: PathBuf, reason: String },
    /// The operator: the process stands in no folder.
    #[error("find the current folder: {reason}")]
    CurrentFolder { reason: String },
    /// The operator: the filter of diagnostics is none.
    #[error("read MONOLITH_LOG: {got:?} is not a log filter")]
    LogFilter { got: String },
    /// The operator: no threads can be started.
    #[error("start the runtime: {reason}")]
    Runtime { reason: String },
    /// The operator: the system lets the process open too few files.
    #[error(
        "drive {max_runs} runs at once: that needs {needed} open files, but the system allows {allowed}"
    )]
    FileLimit {
        allowed: u64,
        max_runs: usize,
        needed: u64,
    },
    /// The caller: no contract is there to be run.
    #[error("run the contracts of {}: it has no .yaml, .yml or .json file", path.display())]
    NoContracts { path: PathBuf },
    /// The caller: what the runs are to be read from cannot be read.
    #[error("read the runs of {}: {reason}", path.display())]
    UnreadableList { path: PathBuf, reason: String },
    /// The caller, or the operator: the result of a run is not read, or cannot be written.
    #[error("write the answer of run {run_id}: {reason}")]
    AnswerUnwritten { reason: String, run_id: RunId },
    /// The caller, or the operator: the results of runs are not read, or cannot be written.
    #[error("write the results: {reason}")]
    ResultsUnwritten {
        reason: String,
        /// True if a run was suspended.
        suspended: bool,
    },
    /// The caller, or the operator: the results of work items are not read, or cannot be written.
    #[error("write the results: {reason}")]
    ItemsUnwritten {
        file: PathBuf,
        reason: String,
        /// True if an item was left.
        suspended: bool,
    },
    /// The operator: the system gave no randomness.
    #[error("find a name for the run: {reason}")]
    Randomness { reason: String },
    /// The operator: the system does not say which program this is.
    #[error("find the program of this process: {reason}")]
    OwnProgram { reason: String },
    /// monolith itself.
    #[error("monolith itself failed: {message}")]
    Panic { message: String },
}

impl Advice for SystemFault {
    fn exit(&self) -> Exit {
        match self {
            Self::FileExists { .. }
            | Self::FormatAndEnding { .. }
            | Self::UnknownEnding { .. }
            | Self::NeverHoldsWithheld { .. }
            | Self::NoFormOf { .. }
            | Self::TreeWithoutFolder
            | Self::PageOnTerminal
            | Self::NotConfirmed { .. }
            | Self::NotAsked { .. }
            | Self::FileLimit { .. }
            | Self::NoContracts { .. }
            | Self::UnreadableList { .. }
            | Self::UnreadableTrust { .. }
            | Self::LogFilter { .. } => Exit::USAGE,
            Self::ItemsUnwritten {
                suspended: true, ..
            }
            | Self::ResultsUnwritten {
                suspended: true, ..
            } => Exit::SUSPENDED,
            Self::AnswerUnwritten { .. }
            | Self::ItemsUnwritten { .. }
            | Self::ResultsUnwritten { .. } => Exit::UNWRITTEN,
            Self::CannotWrite { .. }
            | Self::CurrentFolder { .. }
            | Self::Runtime { .. }
            | Self::Randomness { .. }
            | Self::OwnProgram { .. }
            | Self::Panic { .. } => Exit::FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::FileExists { .. } => "--force replaces it",
            Self::FormatAndEnding { .. } => {
                "leave --format out, or give the file the ending of its form (.jsonl, .html, .json for atif, .cast)"
            }
            Self::UnknownEnding { .. } => {
                "the endings are .jsonl, .html, .htm, .json (atif) and .cast; --format FORM writes a file of any name"
            }
            Self::NeverHoldsWithheld { .. } => "--format jsonl and --format html contain it",
            Self::NoFormOf {
                kind: TranscriptKind::Work,
                ..
            } => {
                "a work item can be exported with --format jsonl or --format html, the run of its agent in every format"
            }
            Self::NoFormOf { .. } => {
                "a workflow can be exported with --format jsonl or --format html, each of its steps in every format"
            }
            Self::TreeWithoutFolder => "-o FOLDER names it",
            Self::PageOnTerminal => {
                "-o run.html writes it to a file for a browser; a pipe works, too"
            }
            Self::NotConfirmed { .. } => {
                "nothing was changed; --yes confirms it without a question"
            }
            Self::NotAsked { .. } => "--yes confirms it without a question",
            Self::LogFilter { .. } => {
                "a level (error, warn, info, debug, trace), or monolith::tools=debug"
            }
            Self::UnreadableTrust { .. } => {
                "remove it; monolith then asks again about each contract"
            }
            Self::Panic { .. } => OUR_BUG,
            Self::FileLimit { .. } => {
                "a lower --max-runs or --max-inferences; or raise the system's limit (ulimit -Hn)"
            }
            Self::ResultsUnwritten { .. } => {
                "open runs are suspended: monolith resume --all continues them; monolith list shows all runs"
            }
            Self::ItemsUnwritten { file, .. } => {
                let file = shell_word(&file.display().to_string());
                return Some(format!(
                    "ended items have their receipts: monolith work list shows them; monolith work run {file} resumes items that were left"
                ));
            }
            Self::Runtime { .. } => {
                "the system gives the process too few files or threads: raise its limits (ulimit -n, ulimit -u)"
            }
            Self::AnswerUnwritten { run_id, .. } => {
                return Some(format!(
                    "the run is recorded: monolith show {run_id} prints it"
                ));
            }
            Self::CannotWrite { path, .. } => return missing_folder(path),
            Self::NoContracts { .. }
            | Self::UnreadableList { .. }
            | Self::CurrentFolder { .. }
            | Self::Randomness { .. }
            | Self::OwnProgram { .. } => return None,
        };
        Some(text.to_owned())
    }
}

/// Returns how to create the folder of a file, if it is missing and can be created.
fn missing_folder(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    if folder.as_os_str().is_empty() || !matches!(folder.try_exists(), Ok(false)) {
        return None;
    }
    let above = folder.ancestors().find(|above| above.exists());
    if above.is_some_and(|above| !above.is_dir()) {
        return None;
    }
    let shown = folder.display().to_string();
    Some(format!(
        "the folder {} does not exist: mkdir -p {}",
        line(&shown),
        shell_word(&shown)
    ))
}

/// The output cannot be written.
impl Advice for io::Error {
    fn exit(&self) -> Exit {
        Exit::UNWRITTEN
    }
}
