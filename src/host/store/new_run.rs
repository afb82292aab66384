//! The data to create a run from.

use std::path::PathBuf;
use std::sync::Arc;

use monolith_core::contract::{ExecutionContract, FileTrust, WorkflowDefinition};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::TranscriptKind;
use monolith_core::work::WorkDocument;

/// A run that is to be created.
#[derive(Clone, Debug)]
pub(crate) struct NewRun {
    /// Its binding.
    pub binding: Binding,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub created_unix_ms: u64,
    /// The data that a resume needs in addition to the contract, if known.
    pub invocation: Option<Invocation>,
    /// Its name.
    pub run_id: RunId,
}

/// The permanent binding of a machine.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    /// The contract of a run.
    Contract(Arc<ExecutionContract>),
    /// The definition of a workflow.
    Workflow(Arc<WorkflowDefinition>),
    /// A work item with the contract of its agent.
    Work(Arc<WorkDocument>),
}

impl Binding {
    /// The hash that the chain of the run begins with.
    pub(super) fn hash(&self) -> Digest {
        match self {
            Self::Contract(contract) => contract.contract_hash(),
            Self::Workflow(definition) => definition.definition_hash(),
            Self::Work(document) => document.hash(),
        }
    }

    /// The text of it.
    pub(super) fn document(&self) -> String {
        match self {
            Self::Contract(contract) => contract.canonical_text(),
            Self::Workflow(definition) => definition.canonical_text(),
            Self::Work(document) => document.canonical_text(),
        }
    }

    /// The machine that it binds.
    pub(super) const fn kind(&self) -> TranscriptKind {
        match self {
            Self::Contract(_) => TranscriptKind::Run,
            Self::Workflow(_) => TranscriptKind::Workflow,
            Self::Work(_) => TranscriptKind::Work,
        }
    }
}

/// The invocation of a run: the facts that its contract does not state and a resume needs. Outside the hash; holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The folder that the layers of configuration are found from, absolute.
    pub base_dir: PathBuf,
    /// The file of configuration that was named, absolute.
    pub config: Option<PathBuf>,
    /// The contract file, absolute.
    pub contract_file: PathBuf,
    /// The files that were trusted when the run was begun, each with its trust hash: layers of configuration that were found, and of a
    /// contract that was found, itself and its agents. `None` where that was not recorded.
    pub files: Option<Vec<FileTrust>>,
    /// The changes to the file's values, as `KEY=VALUE`.
    pub sets: Vec<String>,
}
