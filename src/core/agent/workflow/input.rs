//! What a step run is given. Does not fill placeholders.

use crate::message::{Digest, DigestContext};

static INPUT: DigestContext = DigestContext::new("monolith workflow v1 step input");

/// What a step is given, its placeholders filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepInput {
    /// The prompt.
    Prompt(String),
    /// The call.
    Tool {
        /// Its arguments: the canonical text of an object.
        arguments: String,
        /// The exposed name.
        tool: String,
    },
    /// The task of an agent.
    Delegate {
        /// The agent's file as written.
        agent: String,
        /// BLAKE3 of that file.
        agent_digest: Digest,
        /// The task.
        task: String,
    },
}

impl StepInput {
    /// The text of it: a prompt, arguments, a task.
    pub fn text(&self) -> &str {
        match self {
            Self::Prompt(text)
            | Self::Tool {
                arguments: text, ..
            }
            | Self::Delegate { task: text, .. } => text,
        }
    }

    /// The tool that is called; `None` if it is no call.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool { tool, .. } => Some(tool),
            Self::Prompt(_) | Self::Delegate { .. } => None,
        }
    }

    /// BLAKE3 over it.
    pub fn hash(&self) -> Digest {
        let (kind, parts): (&str, [&str; 2]) = match self {
            Self::Prompt(text) => ("prompt", [text, ""]),
            Self::Tool { arguments, tool } => ("tool", [tool, arguments]),
            Self::Delegate { agent, task, .. } => ("delegate", [agent, task]),
        };
        let [first, second] = parts;
        INPUT.framed(&[kind.as_bytes(), first.as_bytes(), second.as_bytes()])
    }
}
