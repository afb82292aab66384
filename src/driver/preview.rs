use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use super::backends::Sources;
use super::bring_up::{server_specs, workspace};
use super::guard::Guard;
use super::secrets::Unmatched;
use super::tokenizers::Tokenizers;
use super::{DriverError, RunRequest};
use crate::contract::{
    CapabilityManifest, ContractFactory, ExecutionContract, McpTransport, ServerCapability,
    ServerKind, ServerTerms,
};
use crate::kernel::BringUpFault;
use crate::tools::{BringUp, ToolServers};

/// Which tool servers are started to see what they offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServersToStart {
    /// Those of the file and those inside monolith.
    All,
    /// Only what is inside monolith: nothing is started at all.
    Builtin,
}

/// The contract that a file gives, without a run.
#[derive(Clone, Debug)]
pub(crate) struct Preview {
    /// The contract; its servers stand as unavailable where they were not started.
    pub contract: ExecutionContract,
    /// What did not come up; sorted by server.
    pub faults: Vec<BringUpFault>,
    /// Why the embedded model of a provider cannot be used, where it cannot, by provider; it is not loaded to see.
    pub(crate) model_faults: BTreeMap<String, String>,
    /// Secrets that are too short to be told from ordinary text, and so are not taken out.
    pub unmatched: Vec<Unmatched>,
    /// Which file each value is from that the contract's own does not hold, by its dotted path.
    pub(crate) origins: BTreeMap<String, String>,
    /// Why this build cannot count with the contract's tokenizer, where it cannot: the contract is then not the one that it would
    /// be elsewhere.
    pub tokenizer_fault: Option<String>,
    /// What the contract's tokens are counted with.
    pub(crate) tokenizers: Tokenizers,
    /// Servers of the file that were not started, whose pins the contract therefore lacks; sorted.
    pub not_started: Vec<String>,
}

impl Preview {
    /// The same, with what a recorded contract says of the tokens of definitions that are in both.
    pub(crate) fn counted_as(self, recorded: &ExecutionContract) -> Self {
        Self {
            contract: self.contract.counted_as(recorded),
            ..self
        }
    }
}

/// Makes the contract of a request without a task, keys or a run. Servers that are started are stopped again.
///
/// # Errors
/// [`DriverError`] where no contract can be made.
pub(crate) async fn preview(
    request: &RunRequest,
    servers: ServersToStart,
    cancel: &CancellationToken,
) -> Result<Preview, DriverError> {
    let found = found(request, servers, cancel).await?;
    Ok(found.0)
}

/// The contract that a file gives where no server of it is started: what a server of the recorded contract offered is taken
/// from there, where the file reaches it in the same way.
///
/// # Errors
/// [`DriverError`] where no contract can be made.
pub(crate) async fn preview_recorded(
    request: &RunRequest,
    recorded: &ExecutionContract,
    cancel: &CancellationToken,
) -> Result<Preview, DriverError> {
    let builtin = ServersToStart::Builtin;
    let (mut preview, mut manifest) = found(request, builtin, cancel).await?;
    let known = CapabilityManifest::recorded_in(recorded);
    for (name, capability) in &mut manifest.servers {
        let Some(was) = known.servers.get(name) else {
            continue;
        };
        if capability.kind == ServerKind::Builtin {
            let kept = capability.tools.drain(..).map(|tool| {
                let mut same = was.tools.iter().filter(|other| other.name == tool.name);
                same.next().cloned().unwrap_or(tool)
            });
            capability.tools = kept.collect();
        } else if reached_alike(
            preview.contract.servers.get(name),
            recorded.servers.get(name),
        ) {
            capability.clone_from(was);
            preview.not_started.retain(|server| server != name);
        }
    }
    let parent = recorded.parent_contract_hash;
    preview.contract =
        ContractFactory.make_counting(&request.spec, &manifest, parent, &preview.tokenizers)?;
    Ok(preview.counted_as(recorded))
}

/// Whether two contracts reach a server in the same way: what it offered when one was made, it offers under the other.
fn reached_alike(left: Option<&ServerTerms>, right: Option<&ServerTerms>) -> bool {
    let way = |terms: &ServerTerms| ServerTerms {
        available: true,
        expected_pin: None,
        pin: None,
        queue: None,
        ..terms.clone()
    };
    left.is_some() && left.map(way) == right.map(way)
}

async fn found(
    request: &RunRequest,
    servers: ServersToStart,
    cancel: &CancellationToken,
) -> Result<(Preview, CapabilityManifest), DriverError> {
    let spec = &request.spec;
    let mut started = spec.clone();
    if servers == ServersToStart::Builtin {
        started.tools.mcp.clear();
    }
    let folder = workspace(spec, &request.base_dir).await?;
    let sources = Sources::read(spec, &request.contract_dir, &request.environment, cancel).await?;
    let guard = Guard::of(spec, &request.environment, &sources)?;
    let specs = server_specs(&started, &request.environment)?;
    let BringUp {
        mut capabilities,
        faults,
        servers,
    } = ToolServers::bring_up(specs, &folder, &guard.servers, cancel).await;
    servers.close().await;
    let mut not_started = Vec::new();
    for (name, server) in &spec.tools.mcp {
        if started.tools.mcp.contains_key(name) {
            continue;
        }
        not_started.push(name.clone());
        let kind = match server.transport {
            McpTransport::Stdio { .. } => ServerKind::Stdio,
            McpTransport::Http { .. } => ServerKind::Http,
        };
        let unavailable = ServerCapability {
            available: false,
            kind,
            tools: Vec::new(),
        };
        capabilities.insert(name.clone(), unavailable);
    }
    let manifest = CapabilityManifest {
        servers: capabilities,
        targets: sources.capabilities(spec),
    };
    let tokenizer = spec.tokenizer_id();
    let environment = &request.environment;
    let tokenizers = Tokenizers::ready(tokenizer, &sources, spec, environment, cancel).await?;
    let contract = ContractFactory.make_counting(spec, &manifest, None, &tokenizers)?;
    guard.check(&contract)?;
    let preview = Preview {
        tokenizer_fault: tokenizers.counter_of(contract.tokenizer.as_deref()).err(),
        model_faults: sources.model_faults(spec, &contract, &request.environment),
        contract,
        unmatched: guard.unmatched(),
        faults,
        not_started,
        origins: spec.origins.clone(),
        tokenizers,
    };
    Ok((preview, manifest))
}
