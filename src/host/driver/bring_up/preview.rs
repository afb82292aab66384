//! The contract that a file gives, without a run: for `contract show`, `check` and `hash`, `doctor` and what-if.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::handed_roots::Workspace;
use super::loaded::{intent_of, opening_of};
use super::reach::Reach;
use super::read_request::{ReadRequest, RunRequest};
use super::servers::{ServersToStart, Started};
use super::store_place::judge_store_place;
use super::tokenizers::Tokenizers;
use super::unmet::not_offered;
use crate::driver::DriverError;
use crate::driver::secrets::Unmatched;
use monolith_core::contract::{
    CapabilityManifest, ContractDraft, ContractSpec, ExecutionContract, McpTransport,
    ServerCapability, ServerKind, ValueOrigin,
};
use monolith_core::kernel::BringUpFault;
use monolith_core::message::{AgentMessage, BytesPerToken, ServerConfinement, TokenCounter};

/// The contract that a file gives, without a run.
#[derive(Debug)]
pub struct Preview {
    /// True if every server that could start was started.
    pub are_started: bool,
    /// The confinement of each program that was started; sorted by server.
    pub confinement: Vec<ServerConfinement>,
    /// The contract; its servers count as unavailable if they were not started.
    pub contract: ExecutionContract,
    /// The failed servers; sorted by server.
    pub faults: Vec<BringUpFault>,
    /// The reason why a provider's embedded model cannot be used, by provider. It is not loaded to find out.
    pub model_faults: BTreeMap<String, String>,
    /// The conversation that a run of it begins with: what the file or the caller gives as the task stands last.
    pub opening: Vec<AgentMessage>,
    /// The reach of a run under it.
    pub reach: Reach,
    /// Secrets that are too short to be distinguished from ordinary text, and so are not taken out.
    pub unmatched: Vec<Unmatched>,
    /// The things that the file names and nothing supplies, so that no run begins under it: servers of tools, variables of
    /// servers.
    pub unmet: Vec<DriverError>,
    /// Origins of the values that the contract's own file does not hold, by dotted path.
    pub origins: BTreeMap<String, ValueOrigin>,
    /// The reason why this build cannot count with the contract's tokenizer, if so. The contract then differs from the one that
    /// it would be elsewhere.
    pub tokenizer_fault: Option<String>,
    /// The tokenizers that count the contract's tokens.
    pub tokenizers: Tokenizers,
    /// Numbers of the file that are taken at their limit, in words.
    pub clamped: Vec<String>,
    /// The keys of `sampling` that the author wrote: for every target, or for the one of that number.
    pub written: Vec<(Option<usize>, &'static str)>,
    /// Servers of the file that were not started, whose pins the contract therefore lacks; sorted.
    pub not_started: Vec<String>,
}

impl Preview {
    /// The same, with the recorded token counts of definitions that are in both.
    #[must_use]
    pub fn counted_as(self, recorded: &ExecutionContract) -> Self {
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
pub async fn preview(
    request: &RunRequest,
    servers: ServersToStart,
    cancel: &CancellationToken,
) -> Result<Preview, DriverError> {
    preview_loaded(Vec::new(), request, servers, cancel).await
}

/// The same of a run that begins with a conversation that was saved.
///
/// # Errors
/// [`DriverError`] where no contract can be made.
pub async fn preview_loaded(
    saved: Vec<AgentMessage>,
    request: &RunRequest,
    servers: ServersToStart,
    cancel: &CancellationToken,
) -> Result<Preview, DriverError> {
    made((request, saved), servers, None, cancel).await
}

/// The contract that a file gives where no server of it is started: what a server of the recorded contract offered is taken
/// from there, where the file reaches it in the same way.
///
/// # Errors
/// [`DriverError`] where no contract can be made.
pub async fn preview_recorded(
    request: &RunRequest,
    recorded: &ExecutionContract,
    cancel: &CancellationToken,
) -> Result<Preview, DriverError> {
    let without = ServersToStart::Builtin;
    let preview = made((request, Vec::new()), without, Some(recorded), cancel).await?;
    Ok(preview.counted_as(recorded))
}

async fn made(
    (request, saved): (&RunRequest, Vec<AgentMessage>),
    which: ServersToStart,
    recorded: Option<&ExecutionContract>,
    cancel: &CancellationToken,
) -> Result<Preview, DriverError> {
    let spec = &request.spec;
    let workspace = Workspace::find(spec, &request.contract_dir).await?;
    let found = ReadRequest::read(request, cancel).await?;
    let draft = found.draft();
    let guard = found.guard(draft.as_ref().ok())?;
    let confinement = found.confinement(which).await?;
    let (specs, without_variables) = match which {
        ServersToStart::Possible => found.possible_servers()?,
        _ => (found.servers(which)?, Vec::new()),
    };
    if which != ServersToStart::Builtin {
        judge_store_place(&specs, workspace.path(), &request.environment)?;
    }
    let mut draft = draft?;
    let task = spec.task.as_deref().unwrap_or_default();
    draft.decide(intent_of(&saved, task).as_deref())?;
    let started = Started::up(
        specs,
        workspace.path(),
        &guard.servers,
        draft.total_timeout_ms,
        cancel,
        &request.environment,
    )
    .await?;
    let mut offer = started.close().await;
    let mut capabilities = std::mem::take(&mut offer.capabilities);
    let mut not_started = match which {
        ServersToStart::All | ServersToStart::Possible => without_variables,
        ServersToStart::Builtin => {
            let servers = spec.tools.servers.keys();
            let missing = servers.filter(|name| !capabilities.contains_key(*name));
            missing.cloned().collect()
        }
    };
    for name in &not_started {
        capabilities.insert(name.clone(), not_there(spec, name));
    }
    if let Some(recorded) = recorded {
        let known = offer_as_recorded(&mut capabilities, &draft, recorded);
        not_started.retain(|name| !known.contains(name));
    }
    let unmet = if recorded.is_some() {
        Vec::new()
    } else {
        let mut unmet = found.unmet(Some(&draft));
        unmet.extend(not_offered(spec, &capabilities));
        unmet
    };
    let name = draft.tokenizer.clone();
    let tokenizers = found.tokenizers(name, Some(&draft), cancel).await?;
    let parent = recorded.and_then(|recorded| recorded.parent_contract_hash);
    let contract = draft.complete(&capabilities, parent, &tokenizers)?;
    if recorded.is_none() {
        guard.check(&contract)?;
    }
    let faults = offer.faults_under(spec, &contract);
    let counter = counter_of(&tokenizers, &contract);
    Ok(Preview {
        opening: opening_of(saved, task, &contract, counter.as_ref()),
        are_started: which != ServersToStart::Builtin,
        confinement,
        tokenizer_fault: tokenizers.counter_of(contract.tokenizer.as_deref()).err(),
        model_faults: found.model_faults(&contract),
        reach: found.reach(&contract, workspace.path()),
        contract,
        unmatched: guard.unmatched(),
        unmet,
        faults,
        not_started,
        origins: spec.origins.clone(),
        tokenizers,
        clamped: spec.clamped.clone(),
        written: written(spec),
    })
}

/// Returns the token counter of the conversation; if this build lacks that tokenizer, the one that a run then uses.
fn counter_of(tokenizers: &Tokenizers, contract: &ExecutionContract) -> Arc<dyn TokenCounter> {
    let counter = tokenizers.counter_of(contract.tokenizer.as_deref());
    counter.unwrap_or_else(|_| BytesPerToken::counter())
}

fn written(spec: &ContractSpec) -> Vec<(Option<usize>, &'static str)> {
    let of_all = spec.sampling.written().into_iter().map(|key| (None, key));
    let targets = spec.targets.iter().enumerate();
    let of_each = targets.flat_map(|(at, target)| {
        let keys = target.sampling.written().into_iter();
        keys.map(move |key| (Some(at), key))
    });
    of_all.chain(of_each).collect()
}

/// A server of the file that was not started.
fn not_there(spec: &ContractSpec, name: &str) -> ServerCapability {
    let transport = spec.tools.servers.get(name).map(|server| &server.transport);
    ServerCapability {
        available: false,
        // Only the tools of an embedding program are a server without one.
        kind: transport.map_or(ServerKind::Host, McpTransport::kind),
        tools: Vec::new(),
    }
}

/// Lays what the recorded contract's servers offered over what is offered now: of each server that the draft reaches in the same way,
/// and of each tool inside monolith. Returns the servers of which that is known.
fn offer_as_recorded(
    capabilities: &mut BTreeMap<String, ServerCapability>,
    draft: &ContractDraft,
    recorded: &ExecutionContract,
) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let known = CapabilityManifest::recorded_in(recorded);
    let reached_alike = |name: &str| {
        let both = draft.servers.get(name).zip(recorded.servers.get(name));
        both.is_some_and(|(left, right)| left.is_reached_like(right))
    };
    for (name, capability) in capabilities {
        let Some(was) = known.servers.get(name) else {
            continue;
        };
        if capability.kind == ServerKind::Builtin {
            let kept = capability.tools.drain(..).map(|tool| {
                let mut same = was.tools.iter().filter(|other| other.name == tool.name);
                same.next().cloned().unwrap_or(tool)
            });
            capability.tools = kept.collect();
        } else if reached_alike(name) {
            capability.clone_from(was);
            reached.insert(name.clone());
        }
    }
    reached
}
