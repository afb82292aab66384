//! What the runs below a run are brought up with. Begins none.

use std::path::PathBuf;
use std::sync::Arc;

use monolith_core::contract::ContractSpec;
use monolith_core::session::RedactionKey;

use super::Environment;
use super::agent_reader::ParentFile;
use super::bring_up::RunRequest;
use crate::store::Invocation;

/// What the runs below a run are brought up with.
#[derive(Clone)]
pub(super) struct Below {
    pub(super) environment: Environment,
    pub(super) key: RedactionKey,
    pub(super) parent: ParentFile,
    /// What the contract of the run that delegates was made of.
    pub(super) spec: Arc<ContractSpec>,
}

impl Below {
    /// What runs below that one are brought up with; `None` if it has no agents.
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

    /// What the runs below a run are ended with: nothing of them is read again.
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
