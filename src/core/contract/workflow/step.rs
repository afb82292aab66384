//! The steps of a workflow as data. Does not judge them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, StepId};
use crate::message::Digest;

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
    /// What it does.
    pub work: Work,
}

/// What a step does. The first three are runs of their own, the others hold steps.
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
    /// What decides.
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
    /// How many of its steps are under way at most.
    pub max_concurrency: u32,
    /// What the failure of one means for the others.
    pub on_failure: FailureStrategy,
    /// The steps.
    pub steps: Vec<Step>,
}

/// What follows from a failure (INV-PE-003).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureStrategy {
    /// Nothing more is begun, and what is under way is ended.
    FailFast,
    /// The others go on; errors are gathered.
    ContinueOnError,
    /// As the first, then what had completed is compensated, the last first.
    Rollback,
}

impl Work {
    /// Whether it is a run of its own.
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
