//! Faults of the state folder and of finding its store.

use std::io;
use std::path::PathBuf;

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::text::command::typed_word;

/// The state folder or its store is not there.
#[derive(Debug, thiserror::Error)]
pub enum StateFault {
    /// The operator: the state folder cannot be made, or others can write it.
    #[error("use the state folder {}: {reason}", path.display())]
    StateFolder {
        /// True if its mode lets others write it.
        is_open: bool,
        path: PathBuf,
        reason: String,
    },
    /// The operator: the system names no home folder.
    #[error("find a state folder: the system names no home folder")]
    NoStateFolder,
    /// The caller: the store that the caller names is not there.
    #[error("read the store {}: there is no such file", path.display())]
    NoSuchStore { path: PathBuf },
    /// The operator: the system does not let us see whether the store is there.
    #[error("read the store {}: {fault}", path.display())]
    Unreachable { path: PathBuf, fault: io::Error },
    /// The caller: there is no demo run yet.
    #[error("find a demo run: this store has none")]
    NoDemoRun,
}

impl Advice for StateFault {
    fn exit(&self) -> Exit {
        match self {
            Self::NoDemoRun => Exit::USAGE,
            Self::StateFolder { .. }
            | Self::NoStateFolder
            | Self::NoSuchStore { .. }
            | Self::Unreachable { .. } => Exit::FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::StateFolder {
                is_open: true,
                path,
                ..
            } => {
                let folder = typed_word(&path.display().to_string());
                return Some(format!(
                    "if everything in it is yours, `chmod 700 {folder}` closes it; or name another folder with MONOLITH_HOME"
                ));
            }
            Self::NoStateFolder | Self::StateFolder { .. } | Self::Unreachable { .. } => {
                "name the file with --store PATH, or a folder with MONOLITH_HOME"
            }
            Self::NoSuchStore { .. } => {
                "monolith run creates it; or name another file with --store"
            }
            Self::NoDemoRun => "monolith demo creates one",
        };
        Some(text.to_owned())
    }
}
