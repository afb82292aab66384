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
/// use monolith::{ContractSpec, Environment, RedactionKey, RunRequest};
///
/// let text = std::fs::read_to_string("contracts/demo.yaml")?;
/// let request = RunRequest {
///     spec: ContractSpec::parse("demo.yaml", &text, &[])?,
///     contract_dir: "contracts".into(),
///     environment: Environment::new(|name| std::env::var(name).ok()),
///     redaction_key: RedactionKey::new([7; 32]),
///     invocation: None,
///     run_id: None,
/// };
/// assert!(request.spec.task.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
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
