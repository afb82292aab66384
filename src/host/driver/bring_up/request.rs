//! What a run is asked to be.

use std::path::PathBuf;

use crate::driver::Environment;
use crate::store::Invocation;
use monolith_core::contract::ContractSpec;
use monolith_core::message::RunId;
use monolith_core::session::RedactionKey;

/// What a run is asked to be.
///
/// ```
/// use monolith::contract::ContractSpec;
/// use monolith::host::{Environment, RunRequest};
/// use monolith::session::RedactionKey;
///
/// let text = std::fs::read_to_string("contracts/demo.yaml")?;
/// let spec = ContractSpec::parse("demo.yaml", &text, &[])?;
/// let environment = Environment::new(|name| std::env::var(name).ok());
/// let request = RunRequest::new(spec, "contracts", environment, RedactionKey::new([7; 32]));
/// assert!(request.spec.task.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunRequest {
    /// What the contract's author wrote, task included.
    pub spec: ContractSpec,
    /// The contract file's folder: scripts and the workspace are found from here.
    pub contract_dir: PathBuf,
    /// Where variables come from.
    pub environment: Environment,
    /// What the salt of the run is made from.
    pub redaction_key: RedactionKey,
    /// How the run was asked for, to be recorded for a resume.
    pub invocation: Option<Invocation>,
    /// The run's name; a random one where none is given.
    pub run_id: Option<RunId>,
}

impl RunRequest {
    /// A run of that contract under a random name, whose asking is not recorded.
    pub fn new(
        spec: ContractSpec,
        contract_dir: impl Into<PathBuf>,
        environment: Environment,
        redaction_key: RedactionKey,
    ) -> Self {
        Self {
            spec,
            contract_dir: contract_dir.into(),
            environment,
            redaction_key,
            invocation: None,
            run_id: None,
        }
    }

    /// The same in another environment.
    #[must_use]
    pub fn in_environment(self, environment: Environment) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// The same under that name.
    #[must_use]
    pub fn named(self, run_id: RunId) -> Self {
        Self {
            run_id: Some(run_id),
            ..self
        }
    }
}
