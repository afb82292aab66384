use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::backends::{Sources, backends};
use super::clock::unix_ms;
use super::guard::{Guard, recorded};
use super::resume::Resumption;
use super::tokenizers::Tokenizers;
use super::{DriverError, Environment};
use crate::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract, IntentPolicyResolver,
    McpTransport,
};
use crate::inference::Backend;
use crate::kernel::RunStarted;
use crate::message::{Digest, QuarterBytes, RunId, Scrubber, TokenCounter};
use crate::session::{RedactionKey, Redactor, Scrub};
use crate::store::Invocation;
use crate::tools::{BringUp, ServerSpec, ToolServers};

/// What a run is asked to be.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// What the contract's author wrote, task included.
    pub spec: ContractSpec,
    /// The contract file's folder: scripts are found from here.
    pub contract_dir: PathBuf,
    /// Where the caller stands: the workspace is found from here.
    pub base_dir: PathBuf,
    /// Where variables come from.
    pub environment: Environment,
    /// What the salt of the run is made from.
    pub redaction_key: RedactionKey,
    /// How the run was asked for, to be recorded for a resume.
    pub invocation: Option<Invocation>,
    /// The run's name; a random one where none is given.
    pub run_id: Option<RunId>,
}

/// A run that can be begun, or gone on with: its contract is made, its tool servers are up or known to be down.
pub struct Prepared {
    pub(super) backends: Vec<Arc<Backend>>,
    pub(super) contract: Arc<ExecutionContract>,
    /// What tokens are estimated with.
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) redactor: Arc<Redactor>,
    pub(super) run_id: RunId,
    pub(super) servers: ToolServers,
    pub(super) start: Start,
}

/// From where a run is driven.
pub(super) enum Start {
    /// From its beginning.
    New {
        invocation: Option<Invocation>,
        started: Box<RunStarted>,
    },
    /// From where its transcript ends.
    Again(Box<Resumption>),
}

impl Prepared {
    /// The contract of the run to be.
    #[must_use]
    pub const fn contract(&self) -> &Arc<ExecutionContract> {
        &self.contract
    }

    /// The name of the run to be.
    #[must_use]
    pub const fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Stops the tool servers of a run that is not begun after all.
    pub async fn close(self) {
        self.servers.close().await;
    }
}

/// Brings up what a run needs and makes its contract.
///
/// A tool server that does not come up is no error: it stands in the contract as unavailable, and the run ends with a
/// transcript that says so. Tools are judged before keys.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run.
pub async fn prepare(
    request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    prepare_after(request, &[], cancel).await
}

/// [`prepare`], with scripts played on from where so many requests of each target were answered.
pub(super) async fn prepare_after(
    request: RunRequest,
    answered: &[usize],
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let mut spec = request.spec;
    let task = spec.task.take();
    let task = task
        .filter(|task| !task.trim().is_empty())
        .ok_or(DriverError::NoTask)?;
    let run_id = match &request.run_id {
        Some(id) => id.clone(),
        None => random_run_id("")?,
    };
    let workspace = workspace(&spec, &request.base_dir).await?;
    let sources = Sources::read(&spec, &request.contract_dir, &request.environment, cancel).await?;
    let servers = server_specs(&spec, &request.environment)?;
    let guard = Guard::of(&spec, &request.environment, &sources)?;
    let redactor = guard.redactor(&spec, &request.redaction_key, &run_id);
    // The policy is decided by what is recorded of the task, so that whoever reads it comes to the same.
    let task = redactor.text(&task).into_owned();
    spec.task = Some(task.clone());
    let spec = &spec;
    let BringUp {
        capabilities,
        mut faults,
        servers,
    } = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(DriverError::Cancelled),
        up = ToolServers::bring_up(servers, &workspace, &guard.servers, cancel) => up,
    };
    Scrub(redactor.as_ref()).faults(&mut faults);
    let tools_are_up = capabilities.values().all(|server| server.available);
    let manifest = CapabilityManifest {
        servers: capabilities,
        targets: sources.capabilities(spec),
    };
    let environment = &request.environment;
    let tokenizer = spec.tokenizer_id();
    let tokenizers = match Tokenizers::ready(tokenizer, &sources, spec, environment, cancel).await {
        Ok(tokenizers) => tokenizers,
        Err(fault) => {
            servers.close().await;
            return Err(fault);
        }
    };
    let made = ContractFactory
        .make_counting(spec, &manifest, None, &tokenizers)
        .map_err(DriverError::from)
        .and_then(|contract| {
            guard.check(&contract)?;
            let backends = backends(
                spec,
                &contract,
                sources,
                environment,
                tools_are_up,
                answered,
            )?;
            Ok((contract, backends))
        });
    let (contract, backends) = match made {
        Ok(made) => made,
        Err(fault) => {
            servers.close().await;
            return Err(fault);
        }
    };
    let (counter, tokenizer_fault) = match tokenizers.counter_of(contract.tokenizer.as_deref()) {
        Ok(counter) => (counter, None),
        Err(fault) => {
            // It may name a file, and says what llama.cpp says.
            (QuarterBytes::counter(), Some(redactor.cut_text(&fault)))
        }
    };
    let started = Box::new(RunStarted {
        bring_up: faults,
        contract_hash: contract.rehash(),
        intent_words: intent_words(spec),
        messages: RunStarted::opening_counted(&contract.system, &task, counter.as_ref()),
        parent: None,
        run_id: run_id.clone(),
        started_unix_ms: unix_ms(),
        tokenizer_fault,
        workspace: Some(workspace_digest(&workspace)),
    });
    let invocation = request.invocation;
    let invocation = invocation.and_then(|given| recorded(given, &redactor));
    Ok(Prepared {
        backends,
        contract: Arc::new(contract),
        counter,
        redactor,
        run_id,
        servers,
        start: Start::New {
            invocation,
            started,
        },
    })
}

/// The words that the intent rules match: what led to the contract's policy.
fn intent_words(spec: &ContractSpec) -> Vec<String> {
    IntentPolicyResolver::resolve(spec.page, spec.tool_policy, spec.task.as_deref()).matched
}

/// What a run commits to of its workspace.
pub(super) fn workspace_digest(workspace: &Path) -> Digest {
    Digest::of(workspace.as_os_str().as_encoded_bytes())
}

pub(super) async fn workspace(spec: &ContractSpec, base: &Path) -> Result<PathBuf, DriverError> {
    let path = base.join(spec.tools.workspace.as_deref().unwrap_or("."));
    let refuse = |reason: String| DriverError::Workspace {
        path: path.clone(),
        reason,
    };
    let resolved = tokio::fs::canonicalize(&path)
        .await
        .map_err(|fault| refuse(fault.to_string()))?;
    let metadata = tokio::fs::metadata(&resolved)
        .await
        .map_err(|fault| refuse(fault.to_string()))?;
    if metadata.is_dir() {
        Ok(resolved)
    } else {
        Err(refuse("it is not a folder".to_owned()))
    }
}

pub(super) fn server_specs(
    spec: &ContractSpec,
    environment: &Environment,
) -> Result<BTreeMap<String, ServerSpec>, DriverError> {
    let environment = &environment.over(spec);
    let mut servers = BTreeMap::new();
    if !spec.tools.builtin.is_empty() {
        servers.insert(
            "builtin".to_owned(),
            ServerSpec::Builtin {
                names: spec.tools.builtin.clone(),
            },
        );
    }
    for (name, mcp) in &spec.tools.mcp {
        let place = format!("tools.mcp.{name}");
        let server = match &mcp.transport {
            McpTransport::Stdio { args, command, env } => ServerSpec::Stdio {
                args: args.clone(),
                command: command.clone(),
                env: environment.expand_all(env, &format!("{place}.env"))?,
            },
            McpTransport::Http { headers, url } => ServerSpec::Http {
                headers: environment.expand_all(headers, &format!("{place}.headers"))?,
                url: url.clone(),
            },
        };
        servers.insert(name.clone(), server);
    }
    Ok(servers)
}

/// Sixteen random hex digits after `prefix`.
///
/// # Errors
/// [`DriverError::Randomness`] where the system gives none, or the prefix begins no name of a run.
pub(crate) fn random_run_id(prefix: &str) -> Result<RunId, DriverError> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|fault| DriverError::Randomness(fault.to_string()))?;
    let text = format!("{prefix}{:016x}", u64::from_be_bytes(bytes));
    RunId::try_from(text).map_err(|fault| DriverError::Randomness(fault.to_string()))
}
