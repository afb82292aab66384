//! Bring-up for a recorded run: what is there must be what the run was begun with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::handed_roots::Workspace;
use super::read_request::{ReadRequest, RunRequest};
use super::servers::{Offer, ServersToStart, Started};
use super::store_place::judge_store_place;
use super::tokenizers::Tokenizers;
use crate::driver::DriverError;
use crate::inference::Backend;
use crate::tools::ToolServers;
use monolith_core::contract::{
    CapabilityManifest, ContractDraft, ExecutionContract, FactoryError, ServerKind, ToolPin,
    changed_offers,
};
use monolith_core::kernel::{BringUpFault, ProviderAddress, RunStarted};
use monolith_core::message::{RunId, ServerConfinement, TokenCounter, ToolServerStatement};
use monolith_core::replay::{ABSENT, differences};
use monolith_core::session::Redactor;

/// Values that come from others of the contract where the author does not give them.
const DERIVED: [&str; 5] = [
    "adapter_version",
    "max_inferences",
    "policy_decision",
    "session_tools",
    "token_gate",
];
/// The member of an agent's terms that has the files below it.
const BELOW: &str = "below";
/// Among how many differences of two contracts the one is looked for that is named.
const MAX_DIFFERENCES: usize = 64;

/// A recorded run, and what of it is to be brought up again.
pub(in crate::driver) struct Recorded<'r> {
    pub(in crate::driver) contract: &'r ExecutionContract,
    /// The terms for its models to answer; none if they are not asked.
    pub(in crate::driver) models: Option<Models>,
    pub(in crate::driver) run_id: &'r RunId,
    pub(in crate::driver) started: &'r RunStarted,
    /// True if its tool servers are to be started.
    pub(in crate::driver) tools: bool,
    /// The workspace that it is brought up in.
    pub(in crate::driver) workspace: ExpectedWorkspace,
}

/// The workspace in which a recorded run is brought up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum ExpectedWorkspace {
    /// Any one: its calls are made again in a copy.
    Any,
    /// The recorded one.
    Recorded,
    /// The recorded one, or any if none is recorded.
    RecordedIfKnown,
}

/// The terms for models to answer again.
pub(in crate::driver) struct Models {
    /// Number of earlier answered requests of each target: a script resumes after them.
    pub(in crate::driver) played: Vec<usize>,
    /// True if keys are looked up.
    pub(in crate::driver) with_keys: bool,
}

/// The result of bringing up a recorded run.
pub(in crate::driver) struct BroughtUp {
    /// The address of each provider whose address is in a variable; none if no model is asked.
    pub(in crate::driver) addresses: Vec<ProviderAddress>,
    /// One for each target; none if no model is asked.
    pub(in crate::driver) backends: Vec<Arc<Backend>>,
    /// Tools that are not the pinned ones any more, sorted.
    pub(in crate::driver) changed: Vec<String>,
    /// The confinement of each program that was started, sorted by server; empty if none was to be.
    pub(in crate::driver) confinement: Vec<ServerConfinement>,
    pub(in crate::driver) counter: Arc<dyn TokenCounter>,
    /// The changed offers of the servers of such tools, sorted by server.
    pub(in crate::driver) differing: Vec<BringUpFault>,
    pub(in crate::driver) redactor: Arc<Redactor>,
    /// The tool servers; none runs if none was to start.
    pub(in crate::driver) servers: ToolServers,
    /// The statements of those servers about themselves.
    pub(in crate::driver) tool_servers: Vec<ToolServerStatement>,
    pub(in crate::driver) tokenizers: Tokenizers,
}

/// The reason why a recorded run cannot be brought up again.
pub(in crate::driver) enum Mismatch {
    /// The file gives another contract.
    Contract {
        /// The agent that is another one, or cannot be read, in words; `None` if the difference is elsewhere.
        agent: Option<String>,
        /// The place where the two documents first differ.
        pointer: String,
        recorded: String,
        given: String,
    },
    /// The script of a provider has changed.
    Script { path: PathBuf, provider: String },
    /// A tool server of the run does not come up.
    Server(BringUpFault),
    /// This build cannot count as the run did, and why.
    Tokenizer(String),
    /// The folder is another one.
    Workspace(PathBuf),
    /// A fault that would keep any run from being brought up.
    Other(DriverError),
}

impl From<DriverError> for Mismatch {
    fn from(fault: DriverError) -> Self {
        Self::Other(fault)
    }
}

/// Brings up again what a recorded run needs, and holds it to what the run was begun with: first what can be read, then the
/// servers.
pub(in crate::driver) async fn bring_up_again(
    recorded: Recorded<'_>,
    mut request: RunRequest,
    cancel: &CancellationToken,
) -> Result<BroughtUp, Mismatch> {
    let contract = recorded.contract;
    let judged = recorded.started.judged_messages(contract);
    request.spec.task = RunStarted::intent(judged);
    let found = ReadRequest::read(&request, cancel).await?;
    let draft = found.draft();
    let name = contract.tokenizer.clone();
    let tokenizers = found.tokenizers(name, draft.as_ref().ok(), cancel).await?;
    let counter = tokenizers.counter_of(contract.tokenizer.as_deref());
    let counter = counter.map_err(Mismatch::Tokenizer)?;
    let guard = found.guard(draft.as_ref().ok());
    let task = request.spec.task.as_deref();
    match check_contract(contract, draft, &found, &tokenizers, task) {
        // Nobody plays it.
        Err(Mismatch::Script { .. }) if recorded.models.is_none() => {}
        checked => checked?,
    }
    let workspace = if recorded.tools {
        Some(workspace_of(&recorded, &request).await?)
    } else {
        None
    };
    let guard = guard?;
    let redactor = guard.redactor(&request.spec, &request.redaction_key, recorded.run_id);
    let all = ServersToStart::All;
    let (confinement, servers) = if recorded.tools {
        (found.confinement(all).await?, Some(found.servers(all)?))
    } else {
        (Vec::new(), None)
    };
    let (mut backends, mut addresses) = (Vec::new(), Vec::new());
    if let Some(models) = recorded.models {
        let reached = found.addresses()?;
        addresses = reached.recorded(redactor.as_ref());
        backends = found.backends(contract, &reached, models.with_keys, &models.played)?;
    }
    let (mut running, mut changed) = (ToolServers::default(), Vec::new());
    let (mut tool_servers, mut differing) = (Vec::new(), Vec::new());
    if let (Some(servers), Some(workspace)) = (servers, workspace) {
        judge_store_place(&servers, workspace.path(), &request.environment)
            .map_err(DriverError::from)?;
        let started = Started::up(
            servers,
            workspace.path(),
            &guard.servers,
            contract.total_timeout_ms,
            cancel,
            &request.environment,
        )
        .await?;
        let checked = started.then(async |offer| match missing_server(contract, &offer) {
            Some(fault) => Err(Mismatch::Server(fault)),
            None => Ok((offer.statements, offer.capabilities)),
        });
        let ((statements, offered), up) = checked.await?;
        (tool_servers, running) = (statements, up);
        changed = running.expect_pins(pins_of(contract));
        let differences = changed_offers(contract, &offered, &changed).into_iter();
        differing = differences
            .map(|(server, detail)| BringUpFault::new(server, detail))
            .collect();
    }
    Ok(BroughtUp {
        addresses,
        backends,
        changed,
        confinement,
        counter,
        differing,
        redactor,
        servers: running,
        tool_servers,
        tokenizers,
    })
}

/// The folder of the request, where it is that of the run.
async fn workspace_of(
    recorded: &Recorded<'_>,
    request: &RunRequest,
) -> Result<Workspace, Mismatch> {
    let workspace = Workspace::find(&request.spec, &request.contract_dir).await?;
    let same = match (recorded.started.workspace, recorded.workspace) {
        (_, ExpectedWorkspace::Any) => true,
        (Some(digest), _) => digest == workspace.digest(),
        (None, expected) => expected == ExpectedWorkspace::RecordedIfKnown,
    };
    if same {
        Ok(workspace)
    } else {
        Err(Mismatch::Workspace(workspace.into_path()))
    }
}

/// Refuses a file from which another contract would come than the recorded one. What the tool servers offer now does not matter
/// here: calls are held to the pins. `task` is what the policy of the recorded contract was decided by.
pub(super) fn check_contract(
    recorded: &ExecutionContract,
    draft: Result<ContractDraft, FactoryError>,
    found: &ReadRequest<'_>,
    tokenizers: &Tokenizers,
    task: Option<&str>,
) -> Result<(), Mismatch> {
    let given = given(recorded, draft, tokenizers, task).map_err(DriverError::from)?;
    if given.contract_hash() == recorded.contract_hash() {
        return Ok(());
    }
    let (was, is) = (terms_text(recorded), terms_text(&given));
    let whole = || (String::new(), "another".to_owned(), "another".to_owned());
    let mut found_all = differences("", &was, &is, MAX_DIFFERENCES);
    // What an author wrote explains what was derived from it, and a file that is another one what is no longer below it.
    found_all.sort_by_key(|(pointer, _, given)| {
        let is_gone = pointer.starts_with("/agents/") && given == ABSENT;
        // A script comes last: it matters only where a model is asked.
        let is_script = found.sources.script_at(found.spec, pointer).is_some();
        (is_script, is_derived(pointer), is_gone)
    });
    let (pointer, was, is) = found_all.into_iter().next().unwrap_or_else(whole);
    Err(match found.sources.script_at(found.spec, &pointer) {
        Some((provider, path)) => Mismatch::Script { path, provider },
        None => Mismatch::Contract {
            agent: other_agent(recorded, &given, &pointer),
            pointer,
            recorded: was,
            given: is,
        },
    })
}

/// Describes the agent whose file has changed or cannot be read, if that is the difference.
fn other_agent(
    recorded: &ExecutionContract,
    given: &ExecutionContract,
    pointer: &str,
) -> Option<String> {
    let name = |step: &str| step.replace("~1", "/").replace("~0", "~");
    let mut steps = pointer.strip_prefix("/agents/")?.split('/').map(name);
    let tool = steps.next()?;
    let was = recorded.agents.get(&tool)?;
    let file = &was.file;
    let is_below = steps.next().is_some_and(|step| step == BELOW);
    let below = steps.next().filter(|_| is_below);
    // The text of the agent is the same, so it names the same files: what is not below it any more could not be read.
    let same = given.agents.get(&tool);
    let same = same.filter(|now| is_below && now.digest == was.digest);
    let gone = same.map(|now| {
        let gone = was.below.keys();
        let gone = gone.filter(|file| !now.below.contains_key(*file));
        gone.map(String::as_str).collect::<Vec<_>>()
    });
    Some(match (gone, below) {
        (Some(gone), below)
            if below.as_deref().is_none_or(|below| gone.contains(&below)) && !gone.is_empty() =>
        {
            let gone = gone.join(" or ");
            format!("{gone}, below its agent {file}, cannot be read")
        }
        (_, Some(below)) => format!("its agent {file} ({below} below it) has changed"),
        (_, None) => format!("its agent {file} has changed"),
    })
}

/// Returns true if the value there may come from other values of the contract.
fn is_derived(pointer: &str) -> bool {
    let first = pointer.split('/').nth(1);
    first.is_some_and(|first| DERIVED.contains(&first))
}

/// The contract of the file, where its servers offer what they offered.
fn given(
    recorded: &ExecutionContract,
    draft: Result<ContractDraft, FactoryError>,
    tokenizers: &Tokenizers,
    task: Option<&str>,
) -> Result<ExecutionContract, FactoryError> {
    let mut draft = draft?;
    draft.decide(task)?;
    let offered = CapabilityManifest::recorded_in(recorded).servers;
    draft.complete(&offered, recorded.parent_contract_hash, tokenizers)
}

/// The contract's document without what is derived from the rest of it.
fn terms_text(contract: &ExecutionContract) -> String {
    // Terms serialise as they are stored; a document without text would differ as a whole.
    serde_json::to_string(&**contract).unwrap_or_default()
}

/// The first server of the contract that is not there any more.
fn missing_server(contract: &ExecutionContract, offer: &Offer) -> Option<BringUpFault> {
    let mut missing = contract.servers.iter().filter(|(name, terms)| {
        let found = offer.capabilities.get(*name);
        // What agents offer stands in their files.
        let is_started = terms.kind != ServerKind::Agents;
        terms.available && is_started && !found.is_some_and(|server| server.available)
    });
    let (name, _) = missing.next()?;
    let fault = offer.faults.iter().find(|fault| fault.server == *name);
    Some(
        fault
            .cloned()
            .unwrap_or_else(|| BringUpFault::new(name.clone(), "it is not in the file".to_owned())),
    )
}

/// The pin of every tool of a contract.
pub(super) fn pins_of(contract: &ExecutionContract) -> BTreeMap<String, ToolPin> {
    // That an agent's file is another one is known when it is called.
    let is_agent = |name: &String| contract.agents.contains_key(name);
    let pins = contract.tools.iter().filter(|tool| !is_agent(&tool.name));
    pins.map(|tool| (tool.name.clone(), ToolPin(tool.pin)))
        .collect()
}
