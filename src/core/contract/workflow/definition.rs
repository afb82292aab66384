//! The document of a workflow: what it is bound to, as a run is to its contract. Does not read the author's file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, StepId, WorkflowFault};
use crate::contract::{AgentId, check_document_size};
use crate::message::Digest;

/// The format of the document.
pub(crate) const WORKFLOW_FORMAT: &str = "monolith-workflow/1";

/// A workflow as it is declared, immutable once it is begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowDefinition {
    /// Steps that undo others; each is a separate run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compensations: Vec<Step>,
    /// BLAKE3 of the author's file, which says under which contract its prompts and tools run.
    pub file_digest: Digest,
    /// `WORKFLOW_FORMAT`.
    pub format: String,
    /// Name of the workflow.
    pub id: AgentId,
    /// The most step runs that it begins, compensations left out.
    pub max_steps: u64,
    /// Consequence of a failed step outside a group.
    pub on_failure: FailureStrategy,
    /// The steps, in the order in which they are done (INV-AGT-003).
    pub steps: Vec<Step>,
    /// Maximum driving time.
    pub total_timeout_ms: u64,
}

/// The reason why a text is no workflow document.
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
    /// Default of the maximum driving time: an hour.
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

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The compensation that undoes it, one of the definition's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensate: Option<StepId>,
    /// Steps of the same parallel group that must have completed before it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Its name, which no other step of the workflow has.
    pub id: StepId,
    /// The work.
    pub work: Work,
}

/// The work of a step. The first three kinds are separate runs; the others hold steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Work {
    /// A model is asked, under the workflow's own contract: a template.
    Prompt(String),
    /// One call of a tool.
    Tool(ToolUse),
    /// Another agent is given a task.
    Delegate(Delegate),
    /// One of two sequences.
    If(If),
    /// A sequence for each item of a list.
    ForEach(ForEach),
    /// A sequence as long as a condition holds.
    While(While),
    /// Steps that may run at the same time.
    Parallel(Parallel),
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    /// The arguments, an object; each text in it is a template.
    pub arguments: Value,
    /// The exposed name, `server__tool`.
    pub tool: String,
}

/// A task for another agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// The agent's file as written: `.ai`, a profile, or a contract file.
    pub agent: String,
    /// BLAKE3 of that file.
    pub agent_digest: Digest,
    /// The task: a template.
    pub task: String,
}

/// One of two sequences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct If {
    /// The condition.
    pub condition: Condition,
    /// Taken where it does not hold.
    #[serde(default, rename = "else", skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Step>,
    /// Taken where it holds.
    pub then: Vec<Step>,
}

/// A sequence for each item of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForEach {
    /// A template that gives a JSON array.
    pub items: String,
    /// The most items of it.
    pub max_iterations: u32,
    /// The sequence.
    pub steps: Vec<Step>,
}

/// A sequence as long as a condition holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct While {
    /// Judged before each iteration.
    pub condition: Condition,
    /// The most iterations.
    pub max_iterations: u32,
    /// The sequence.
    pub steps: Vec<Step>,
}

/// Steps that may run at the same time (INV-PE-001).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parallel {
    /// Maximum number of its steps in progress.
    pub max_concurrency: u32,
    /// Consequence of one failure for the others.
    pub on_failure: FailureStrategy,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The consequence of a failure (INV-PE-003).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureStrategy {
    /// Starts nothing more and ends the steps in progress.
    FailFast,
    /// The others go on; errors are gathered.
    ContinueOnError,
    /// As the first, then what had completed is compensated, the last first.
    Rollback,
}

impl Work {
    /// True if it is a separate run.
    pub const fn is_run(&self) -> bool {
        matches!(self, Self::Prompt(_) | Self::Tool(_) | Self::Delegate(_))
    }

    /// The kind as it is written.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Prompt(_) => "prompt",
            Self::Tool(_) => "tool",
            Self::Delegate(_) => "delegate",
            Self::If(_) => "if",
            Self::ForEach(_) => "for_each",
            Self::While(_) => "while",
            Self::Parallel(_) => "parallel",
        }
    }

    /// The steps that it holds, in the order of the definition, under the keys that hold them.
    pub fn inside(&self) -> Vec<(&'static str, &[Step])> {
        match self {
            Self::Prompt(_) | Self::Tool(_) | Self::Delegate(_) => Vec::new(),
            Self::If(held) if held.otherwise.is_empty() => vec![("then", &held.then)],
            Self::If(held) => vec![("then", &held.then), ("else", &held.otherwise)],
            Self::ForEach(held) => vec![("steps", &held.steps)],
            Self::While(held) => vec![("steps", &held.steps)],
            Self::Parallel(held) => vec![("parallel", &held.steps)],
        }
    }
}

impl Step {
    /// It and every step in it, in the order of the definition.
    pub fn all(&self) -> Vec<&Self> {
        let mut found = vec![self];
        for (_, steps) in self.work.inside() {
            found.extend(steps.iter().flat_map(Self::all));
        }
        found
    }
}
