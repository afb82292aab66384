//! The context for bringing up the child runs of a run. Begins none.

use std::path::PathBuf;
use std::sync::Arc;

use monolith_core::contract::ContractSpec;
use monolith_core::session::RedactionKey;

use super::Environment;
use super::agent_reader::ParentFile;
use super::bring_up::RunRequest;
use crate::store::Invocation;

/// The context for bringing up the child runs of a run.
#[derive(Clone)]
pub(super) struct Below {
    pub(super) environment: Environment,
    pub(super) key: RedactionKey,
    pub(super) parent: ParentFile,
    /// The specification of the delegating run's contract.
    pub(super) spec: Arc<ContractSpec>,
}

impl Below {
    /// Returns the context for child runs of that request; `None` if it has no agents.
    pub(super) fn of(request: &RunRequest, invocation: Option<&Invocation>) -> Option<Self> {
        let parent = || ParentFile {
            folder: request.contract_dir.clone(),
            invocation: invocation.cloned(),
        };
        (!request.spec.agents.is_empty()).then(|| Self {
            environment: request.environment.clone().for_runs_below(),
            key: request.redaction_key.clone(),
            parent: parent(),
            spec: Arc::new(request.spec.clone()),
        })
    }

    /// Returns the context for ending child runs, with none of their files read again.
    pub(super) fn to_end(environment: &Environment, key: &RedactionKey) -> Self {
        Self {
            environment: environment.clone().for_runs_below(),
            key: key.clone(),
            parent: ParentFile {
                folder: PathBuf::new(),
                invocation: None,
            },
            spec: Arc::default(),
        }
    }
}
