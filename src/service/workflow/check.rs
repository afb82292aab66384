//! The facts about a workflow's steps before it runs: the agents that they delegate to, and the contract of each. Asks no
//! model.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::check::failures::known_failures;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::error::input::InputFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::trust::reached_below;
use crate::untrusted::ReachedBelow;
use monolith_core::agent::MAX_OUTPUT_BYTES;
use monolith_core::contract::{ContractSpec, Step, Work, WorkflowSpec, suggest, tool_spec};
use monolith_core::kernel::CheckName;
use monolith_core::message::Digest;
use monolith_core::session::RedactionKey;
use monolith_host::driver::{self, Reach, ServersToStart};

/// A step of which a run is made, and what is wrong with it.
#[derive(Debug, Serialize)]
pub struct CheckedStep {
    /// Id of the step.
    pub step: String,
    /// `prompt`, `tool` or `delegate`.
    pub kind: &'static str,
    /// The file whose contract it runs under.
    pub file: String,
    /// The tool, where it is a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The hash of that contract, as far as it is known without its servers; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contract_hash: Option<Digest>,
    /// Servers of it that were not started: what they offer is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_started: Vec<String>,
    /// Every rule that it breaks.
    pub faults: Vec<String>,
}

/// A workflow's file, checked.
#[derive(Debug, Serialize)]
pub struct WorkflowReport {
    /// True if every step could be run, as far as it is known.
    pub ok: bool,
    /// Exit code of the check.
    pub exit_code: u8,
    /// Id of the workflow.
    pub workflow: String,
    /// Hash of its definition.
    pub definition_hash: Digest,
    /// Steps that runs are made of.
    pub steps: Vec<CheckedStep>,
    /// The reach of the steps that run under the workflow's own contract; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaches: Option<Reach>,
    /// The reach of each agent that a step delegates to, and of those below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents_below: Vec<ReachedBelow>,
    /// Count of all steps in the file.
    #[serde(skip)]
    pub steps_in_file: usize,
}

/// Checks a workflow's file, and each step that it would run.
pub async fn check_workflow(
    service: &Service,
    file: &ContractFile,
    spec: &WorkflowSpec,
    start_servers: bool,
) -> WorkflowReport {
    let servers = if start_servers {
        ServersToStart::All
    } else {
        ServersToStart::Builtin
    };
    let (steps, reaches) = Box::pin(checked(service, file, spec, servers)).await;
    let below = file.agents_of_workflow(service, spec);
    // The step of an agent that gives no contract says why.
    let below_agent = |agent| reached_below(service, std::slice::from_ref(agent)).ok();
    let agents_below = below.iter().filter_map(below_agent).flatten().collect();
    let ok = steps.iter().all(|step| step.faults.is_empty());
    let exit = if ok { Exit::OK } else { Exit::USAGE };
    let definition = &spec.definition;
    WorkflowReport {
        ok,
        exit_code: exit.0,
        workflow: definition.id.to_string(),
        definition_hash: definition.definition_hash(),
        steps,
        reaches,
        agents_below,
        steps_in_file: definition.all_steps().len(),
    }
}

/// Every step of which a run is made, in the order of the file, checked.
pub async fn checked_steps(
    service: &Service,
    file: &ContractFile,
    spec: &WorkflowSpec,
    servers: ServersToStart,
) -> Vec<CheckedStep> {
    Box::pin(checked(service, file, spec, servers)).await.0
}

/// The same, with the reach of the steps that run under the workflow's own contract.
async fn checked(
    service: &Service,
    file: &ContractFile,
    spec: &WorkflowSpec,
    servers: ServersToStart,
) -> (Vec<CheckedStep>, Option<Reach>) {
    // Steps that run under the same contract are checked once.
    let mut known: BTreeMap<String, Found> = BTreeMap::new();
    let mut checked = Vec::new();
    for step in spec.definition.all_steps() {
        let Some((kind, key)) = key_of(step) else {
            continue;
        };
        if !known.contains_key(&key) {
            let found = found(service, (file, spec), step, servers).await;
            known.insert(key.clone(), found);
        }
        let Some(found) = known.get(&key) else {
            continue;
        };
        checked.push(CheckedStep {
            step: step.id.to_string(),
            kind,
            file: found.file.clone(),
            tool: match &step.work {
                Work::Tool(call) => Some(call.tool.clone()),
                _ => None,
            },
            contract_hash: found.contract_hash,
            not_started: found.not_started.clone(),
            faults: found.faults.iter().map(|(_, rule)| rule.clone()).collect(),
        });
    }
    let mut reaches: Option<Reach> = None;
    for found in known.into_values().filter(|found| !found.is_delegate) {
        if let Some(reach) = found.reach {
            reaches.get_or_insert_default().add(reach);
        }
    }
    (checked, reaches)
}

/// A contract that steps of a workflow run under.
pub struct StepContract {
    /// The file of an agent; `None` if it is the workflow's own contract.
    pub agent: Option<ContractFile>,
    /// Its file, as messages call it.
    pub file: String,
    /// Document of the author.
    pub spec: ContractSpec,
}

/// The contracts that the steps run under, each once, as far as their files can be read.
pub fn step_contracts(
    service: &Service,
    file: &ContractFile,
    spec: &WorkflowSpec,
) -> Vec<StepContract> {
    let steps = spec.definition.all_steps();
    let asks = steps
        .iter()
        .any(|step| matches!(step.work, Work::Prompt(_)));
    let own = |spec| StepContract {
        agent: None,
        file: name_of(file),
        spec,
    };
    let mut known = BTreeSet::new();
    let mut contracts = Vec::new();
    for step in steps {
        let Some((_, key)) = key_of(step) else {
            continue;
        };
        if !known.insert(key) {
            continue;
        }
        contracts.extend(match &step.work {
            Work::Delegate(delegate) => {
                let agent = file.agent_beside(service, &delegate.agent);
                let read = agent_spec(service, agent, &delegate.task).ok();
                read.map(|(agent, spec)| StepContract {
                    agent: Some(agent),
                    file: delegate.agent.clone(),
                    spec,
                })
            }
            // What a tool needs is needed by a prompt, too.
            Work::Tool(call) if !asks => Some(own(tool_step(spec, &call.tool))),
            Work::Prompt(_) => Some(own(prompt_step(spec))),
            _ => None,
        });
    }
    contracts
}

/// Returns the contract of a prompt step.
fn prompt_step(spec: &WorkflowSpec) -> ContractSpec {
    ContractSpec {
        task: Some(String::new()),
        ..spec.contract.clone().unwrap_or_default()
    }
}

/// Returns the contract of a call of that tool.
fn tool_step(spec: &WorkflowSpec, tool: &str) -> ContractSpec {
    let contract = spec.contract.clone().unwrap_or_default();
    tool_spec(&contract, tool, MAX_OUTPUT_BYTES as u64)
}

/// Refuses a workflow of which a step could not run.
///
/// # Errors
/// [`ContractFault::Steps`].
pub async fn check_steps(
    service: &Service,
    file: &ContractFile,
    spec: &WorkflowSpec,
) -> Result<(), ServiceError> {
    let checked = checked_steps(service, file, spec, ServersToStart::Builtin);
    let checked = Box::pin(checked).await;
    let faults: Vec<String> = checked.iter().flat_map(CheckedStep::lines).collect();
    if faults.is_empty() {
        return Ok(());
    }
    let path = file.name().to_owned();
    Err(ContractFault::Steps { faults, path }.into())
}

impl CheckedStep {
    /// Each fault, with step and file.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Self { file, step, .. } = self;
        let faults = self.faults.iter();
        let lines = faults.map(|fault| format!("step `{step}`, {file}: {fault}"));
        lines.collect()
    }
}

/// The kind of a step that is a run, and what distinguishes its contract from others.
fn key_of(step: &Step) -> Option<(&'static str, String)> {
    let key = match &step.work {
        Work::Prompt(_) => "prompt".to_owned(),
        Work::Tool(call) => format!("tool {}", call.tool),
        Work::Delegate(delegate) => format!("delegate {}", delegate.agent),
        Work::If(_) | Work::ForEach(_) | Work::While(_) | Work::Parallel(_) => return None,
    };
    Some((step.work.kind(), key))
}

/// The check result for a step's contract.
struct Found {
    contract_hash: Option<Digest>,
    /// Each with the check that it fails, where it is one.
    faults: Vec<(Option<CheckName>, String)>,
    file: String,
    /// True if it is the contract of an agent's file.
    is_delegate: bool,
    not_started: Vec<String>,
    /// The tools that are known to be offered.
    offers: Vec<String>,
    /// The reach of the contract, if there is one.
    reach: Option<Reach>,
}

async fn found(
    service: &Service,
    (file, spec): (&ContractFile, &WorkflowSpec),
    step: &Step,
    servers: ServersToStart,
) -> Found {
    match &step.work {
        Work::Delegate(delegate) => {
            let agent = file.agent_beside(service, &delegate.agent);
            let name = delegate.agent.clone();
            if agent.is_workflow() {
                let rule = "it is a workflow, and a step delegates to an agent: a `.ai` file, a profile or a contract file";
                return Found::without_contract(name, vec![rule.to_owned()]);
            }
            match agent_spec(service, agent, &delegate.task) {
                Ok((agent, spec)) => Found {
                    is_delegate: true,
                    ..of_spec(service, (&agent, name), spec, servers).await
                },
                Err(fault) => Found::without_contract(name, faults_of(&fault)),
            }
        }
        Work::Tool(call) => {
            let called = tool_step(spec, &call.tool);
            let mut found = of_spec(service, (file, name_of(file)), called, servers).await;
            // What a server offers that was not started is not known; what no server can offer is.
            let may_be = |server: &String| call.tool.starts_with(&format!("{server}__"));
            let is_known = !found.offers.is_empty() || found.not_started.iter().any(may_be);
            if found.contract_hash.is_some() && !is_known {
                found
                    .faults
                    .retain(|(check, _)| *check != Some(CheckName::Tools));
                let whole = prompt_step(spec);
                let whole = of_spec(service, (file, name_of(file)), whole, servers).await;
                let meant = suggest(&call.tool, whole.offers.iter().map(String::as_str));
                let meant = meant.map_or(String::new(), |meant| format!("; {meant}"));
                let rule = format!("no tool of this contract is called `{}`{meant}", call.tool);
                found.faults.push((None, rule));
            }
            found
        }
        _ => of_spec(service, (file, name_of(file)), prompt_step(spec), servers).await,
    }
}

fn name_of(file: &ContractFile) -> String {
    file.name().display().to_string()
}

/// Reads an agent's file as a step does.
fn agent_spec(
    service: &Service,
    mut file: ContractFile,
    task: &str,
) -> Result<(ContractFile, ContractSpec), ServiceError> {
    let mut spec = file.read_to_look(service)?;
    spec.task = Some(task.to_owned());
    let spec = file.with_abilities(service, spec)?;
    Ok((file, spec))
}

async fn of_spec(
    service: &Service,
    (file, name): (&ContractFile, String),
    spec: ContractSpec,
    servers: ServersToStart,
) -> Found {
    // A contract knows no run, so nothing is committed to.
    let request = file.request(service, spec, RedactionKey::new([0; 32]));
    let cancel = CancellationToken::new();
    let preview = driver::preview(&request, servers, &cancel).await;
    let preview = match preview {
        Ok(preview) => preview,
        Err(fault) => {
            return Found::without_contract(name, faults_of(&file.located(fault)));
        }
    };
    let unmet = preview.unmet.iter().map(|fault| (None, fault.to_string()));
    let failed = known_failures(&preview).into_iter();
    let failed = failed.map(|(check, rule)| (Some(check), rule));
    Found {
        contract_hash: Some(preview.contract.contract_hash()),
        faults: unmet.chain(failed).collect(),
        file: name,
        is_delegate: false,
        not_started: preview.not_started.clone(),
        offers: preview
            .contract
            .exposed_tools()
            .map(|tool| tool.name.clone())
            .collect(),
        reach: Some(preview.reach),
    }
}

impl Found {
    fn without_contract(file: String, faults: Vec<String>) -> Self {
        Self {
            contract_hash: None,
            faults: faults.into_iter().map(|rule| (None, rule)).collect(),
            file,
            is_delegate: false,
            not_started: Vec::new(),
            offers: Vec::new(),
            reach: None,
        }
    }
}

/// Everything that is wrong with a file, each with its line where it has one.
fn faults_of(fault: &ServiceError) -> Vec<String> {
    match fault {
        ServiceError::Spec(errors) | ServiceError::Located(_, errors) => {
            let lines = errors.errors.iter().map(|error| {
                let (_, line, column) = errors.place_of(error);
                let path = if error.path.is_empty() {
                    String::new()
                } else {
                    format!("{}: ", error.path)
                };
                format!("{line}:{column}: {path}{}", error.rule)
            });
            lines.collect()
        }
        fault => vec![fault.summary()],
    }
}

/// Refuses what is kept of one run alone.
pub fn refuse_options(saves: bool, workflow: &str) -> Result<(), ServiceError> {
    if !saves {
        return Ok(());
    }
    let why = "each of its steps has a separate conversation";
    let help = Some("--save-all DIR saves the conversation of each step");
    Err(InputFault::of_a_run("--save", workflow, why, help).into())
}

/// Refuses changes of the file.
pub fn as_written(
    workflow: &str,
    mut changes: impl Iterator<Item = String>,
) -> Result<(), ServiceError> {
    let Some(change) = changes.next() else {
        return Ok(());
    };
    let (why, help) = ("it is run as it is written", Some("change the file itself"));
    Err(InputFault::of_a_run(&change, workflow, why, help).into())
}
