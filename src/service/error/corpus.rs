//! Faults of cases, records and live endpoints.

use std::path::PathBuf;

use crate::error::advice::Advice;
use crate::exit::Exit;

/// Cases or records cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum CorpusFault {
    /// The caller: no case has such an id.
    #[error("play the corpus: no case's id contains {filter:?}")]
    NoSuchCase { filter: String },
    /// The caller: no sentence has such an id.
    #[error("list the sentences: no sentence's id begins with {filter:?}")]
    NoSuchSentence { filter: String },
    /// monolith: a list or a case that it carries is faulty.
    #[error("list the sentences: {0}")]
    Sentences(String),
    /// The caller: this build has no such profile.
    #[error("play the corpus: no model profile {got:?}; this build has {known}")]
    NoSuchProfile { got: String, known: String },
    /// monolith: a live case that it carries is faulty; or the caller's endpoint cannot stand in a contract.
    #[error("make the contract of a live case: {0}")]
    LiveCase(String),
    /// The caller: no such file of records.
    #[error("read the records {}: {reason}", path.display())]
    RecordsUnreadable { path: PathBuf, reason: String },
    /// The author of the file: lines that are no records.
    #[error("judge every line of {}: {faults}", path.display())]
    RecordsNotJudged { path: PathBuf, faults: String },
}

impl Advice for CorpusFault {
    fn exit(&self) -> Exit {
        Exit::USAGE
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::RecordsNotJudged { .. } => {
                "the other lines are judged; each line is one JSON record"
            }
            Self::NoSuchCase { .. } => "monolith corpus run lists them all",
            Self::NoSuchSentence { .. } => "monolith corpus coverage lists them all",
            Self::Sentences(_)
            | Self::NoSuchProfile { .. }
            | Self::LiveCase(_)
            | Self::RecordsUnreadable { .. } => {
                return None;
            }
        };
        Some(text.to_owned())
    }
}
