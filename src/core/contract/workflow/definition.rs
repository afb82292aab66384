//! The document of a workflow: what it is bound to, as a run is to its contract. Does not read the author's file.

use serde::{Deserialize, Serialize};

use super::{FailureStrategy, Step, StepId, WorkflowFault};
use crate::contract::{AgentId, check_document_size};
use crate::message::Digest;

/// The format of the document.
pub(crate) const WORKFLOW_FORMAT: &str = "monolith-workflow/1";

/// A workflow as it is declared, immutable once it is begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowDefinition {
    /// Steps that undo others; each is a run of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compensations: Vec<Step>,
    /// BLAKE3 of the author's file, which says under which contract its prompts and tools run.
    pub file_digest: Digest,
    /// `WORKFLOW_FORMAT`.
    pub format: String,
    /// What the workflow is called.
    pub id: AgentId,
    /// The most step runs that it begins, compensations left out.
    pub max_steps: u64,
    /// What the failure of a step outside of a group means.
    pub on_failure: FailureStrategy,
    /// The steps, in the order in which they are done (INV-AGT-003).
    pub steps: Vec<Step>,
    /// How long it may be driven.
    pub total_timeout_ms: u64,
}

/// Why a text is no document of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowDocumentFault {
    /// It is too large.
    #[error("the document {0}")]
    Size(String),
    /// It does not read as one.
    #[error("it is no definition of a workflow: {0}")]
    Shape(String),
    /// It is of another version.
    #[error("it is of format {0:?}, and this build reads {WORKFLOW_FORMAT}")]
    Format(String),
    /// Other bytes would be written for it.
    #[error("it is not the canonical text of its values")]
    NotCanonical,
    /// It breaks a rule.
    #[error("{0}")]
    Rule(WorkflowFault),
}

impl WorkflowDefinition {
    /// The most step runs where the file does not say.
    pub(crate) const MAX_STEPS: u64 = 100;
    /// The most that `max_steps` can be.
    pub(crate) const MOST_RUNS: u64 = 1_000;
    /// The most iterations of a loop.
    pub(crate) const MOST_ITERATIONS: u32 = 1_000;
    /// How long it may be driven where the file does not say: an hour.
    pub(crate) const TOTAL_TIMEOUT_MS: u64 = 3_600_000;
    /// The most steps of a group under way where the file does not say.
    pub(crate) const MAX_CONCURRENCY: u32 = 4;

    /// Its canonical text (RFC 8785).
    #[must_use]
    pub fn canonical_text(&self) -> String {
        // Arguments came from JSON, so nothing in it lacks a canonical form.
        serde_json_canonicalizer::to_string(self).unwrap_or_default()
    }

    /// BLAKE3 of [`Self::canonical_text`].
    #[must_use]
    pub fn definition_hash(&self) -> Digest {
        Digest::of(self.canonical_text().as_bytes())
    }

    /// Reads a stored document, and judges it as the author's file was.
    ///
    /// # Errors
    /// `WorkflowDocumentFault` where it is none, or breaks a rule.
    pub fn decode(text: &str) -> Result<Self, WorkflowDocumentFault> {
        check_document_size(text).map_err(WorkflowDocumentFault::Size)?;
        let read: Self = serde_json::from_str(text)
            .map_err(|fault| WorkflowDocumentFault::Shape(fault.to_string()))?;
        if read.format != WORKFLOW_FORMAT {
            return Err(WorkflowDocumentFault::Format(read.format));
        }
        if read.canonical_text() != text {
            return Err(WorkflowDocumentFault::NotCanonical);
        }
        match read.faults().into_iter().next() {
            None => Ok(read),
            Some(fault) => Err(WorkflowDocumentFault::Rule(fault)),
        }
    }

    /// The compensation of that name.
    pub(crate) fn compensation(&self, id: &StepId) -> Option<&Step> {
        self.compensations.iter().find(|step| step.id == *id)
    }

    /// Every step, those in others included, in the order of the definition; compensations last.
    pub fn all_steps(&self) -> Vec<&Step> {
        let steps = self.steps.iter().chain(&self.compensations);
        steps.flat_map(Step::all).collect()
    }
}
