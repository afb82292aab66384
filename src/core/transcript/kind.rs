//! The machines whose transcripts there are. The document that a transcript is bound to says which one it is
//! of.

use std::fmt;

use serde::Deserialize;

use crate::contract::{WORK_FORMAT, WORKFLOW_FORMAT};

/// The machine that a transcript is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TranscriptKind {
    /// The machine of a run.
    #[default]
    Run,
    /// The machine of a workflow.
    Workflow,
    /// The machine of a work item.
    Work,
}

impl TranscriptKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Run, Self::Workflow, Self::Work];

    /// The kind as a store writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Workflow => "workflow",
            Self::Work => "work",
        }
    }

    /// Reads the kind in a store; none for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The kind that the `format` of a document states. A document of any other format is judged as a
    /// contract.
    pub(super) fn of_document(text: &str) -> Self {
        #[derive(Deserialize)]
        struct Stated {
            format: String,
        }
        let stated: Option<Stated> = serde_json::from_str(text).ok();
        match stated.as_ref().map(|stated| stated.format.as_str()) {
            Some(WORKFLOW_FORMAT) => Self::Workflow,
            Some(WORK_FORMAT) => Self::Work,
            _ => Self::Run,
        }
    }
}

impl fmt::Display for TranscriptKind {
    /// The kind as people read it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "run",
            Self::Workflow => "workflow",
            Self::Work => "work item",
        })
    }
}
