//! The agent of an item: its contract file, and the terms under which it works on the item. Begins no run.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::conflicts::task_text;
use crate::agents::{Agents, agent_id};
use crate::contract_file::ContractFile;
use crate::contract_file::agent::ChosenAgent;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::error::work::WorkFault;
use crate::service::Service;
use monolith_core::contract::ContractSpec;
use monolith_core::message::Digest;
use monolith_core::work::{Receipt, WorkItem};
use monolith_host::driver::{Environment, RunRequest};
use monolith_host::store::Invocation;

/// The built-in tool that a sandbox confines.
const SHELL: &str = "shell";
/// `total_timeout_ms` of a contract that states none.
const DEFAULT_TOTAL_MS: u64 = 3_600_000;

/// `max_turns` of a contract that states none.
const DEFAULT_TURNS: u64 = 10;

/// The agent of an item.
#[derive(Clone, Debug)]
pub(super) struct ItemAgent {
    /// The tools of the program that its file offers.
    builtin: Vec<String>,
    /// BLAKE3 over its file, with everything that it includes.
    pub(super) contract_hash: Digest,
    place: AgentPlace,
    /// True if its file limits the calls of single tools.
    limits_tools: bool,
    /// The limit of calls that its own file states.
    own_calls: Option<u64>,
    /// The time limit in the agent's file.
    pub(super) own_timeout_ms: u64,
    /// True if its own file limits its turns.
    states_turns: bool,
}

/// The place of an agent's contract.
#[derive(Clone, Debug)]
enum AgentPlace {
    /// A file that the author of the items names.
    File(PathBuf),
    /// A file that is registered under an id.
    Registered(ChosenAgent),
}

impl ItemAgent {
    /// Reads the contract of an item's agent: the file that the author names, else the registered one.
    pub(super) fn find(
        service: &Service,
        item: &WorkItem,
        named: Option<PathBuf>,
        agents: &Agents,
    ) -> Result<Self, ServiceError> {
        let place = match named {
            Some(path) => AgentPlace::File(path),
            None => AgentPlace::Registered(ChosenAgent {
                id: agent_id(&item.agent_id)?,
                selection: None,
            }),
        };
        let file = place.file(service, agents, Vec::new())?;
        if file.is_workflow() {
            let (item, path) = (item.id.clone(), file.name().to_owned());
            return Err(WorkFault::AgentIsWorkflow { item, path }.into());
        }
        let is_named = matches!(place, AgentPlace::File(_));
        let spec = file.read(service).map_err(|fault| {
            if is_named {
                of_item(item, fault)
            } else {
                fault
            }
        })?;
        Ok(Self {
            builtin: spec.tools.builtin,
            contract_hash: file.digest_of(&file.text()?)?,
            limits_tools: !spec.max_calls.per_tool.is_empty(),
            own_calls: spec.max_calls.run,
            own_timeout_ms: spec.total_timeout_ms.unwrap_or(DEFAULT_TOTAL_MS),
            place,
            states_turns: spec.max_turns.is_some(),
        })
    }

    /// The request of the agent's run on an item: a new one in that workspace, or one that was begun.
    pub(super) fn request(
        &self,
        (service, environment): (&Service, &Environment),
        (item, reconciled): (&WorkItem, &[Receipt]),
        (workspace, timeout_ms): (&Path, u64),
        begun: Option<Invocation>,
    ) -> Result<RunRequest, ServiceError> {
        let key = service.redaction_key()?;
        if let Some(file) = ContractFile::of_run(service, begun, None, Vec::new()) {
            let request = file.request(service, file.read(service)?, key);
            return Ok(request.in_environment(environment.clone()));
        }
        let calls = item.constraints.max_tool_ops;
        let calls = self.own_calls.map_or(calls, |own| own.min(calls));
        let key_of_calls = if self.limits_tools {
            "max_calls.run"
        } else {
            "max_calls"
        };
        let mut sets = vec![workspace_set(workspace)?];
        // The sandbox of a contract confines its shell alone.
        if self.has_shell() {
            sets.extend(sandbox_set(item));
        }
        sets.push(format!("{key_of_calls}={calls}"));
        if !self.states_turns {
            sets.push(turns_set(calls));
        }
        let timeout_ms = self.own_timeout_ms.min(timeout_ms.max(1));
        sets.push(format!("total_timeout_ms={timeout_ms}"));
        let mut file = self.file(service, sets)?;
        let mut spec = file.read(service)?;
        spec.task = Some(task_of(item, reconciled, &spec));
        let spec = file.with_abilities(service, spec)?;
        let files = spec.files.clone();
        let request = file.request(service, spec, key);
        let mut request = request.in_environment(environment.clone());
        request.invocation = Some(file.invocation(files));
        Ok(request)
    }

    /// The request whose sandbox the tests of an item run in.
    pub(super) fn test_request(
        &self,
        (service, environment): (&Service, &Environment),
        item: &WorkItem,
        workspace: &Path,
    ) -> Result<RunRequest, ServiceError> {
        let mut sets = vec![workspace_set(workspace)?];
        if let Some(sandbox) = sandbox_set(item) {
            if !self.has_shell() {
                let builtin = self.builtin.iter().map(String::as_str);
                let builtin: Vec<_> = builtin.chain([SHELL]).collect();
                sets.push(format!("tools.builtin={}", json!(builtin)));
            }
            sets.push(sandbox);
        }
        let file = self.file(service, sets)?;
        let spec = file.read(service)?;
        let request = file.request(service, spec, service.redaction_key()?);
        Ok(request.in_environment(environment.clone()))
    }

    fn has_shell(&self) -> bool {
        self.builtin.iter().any(|name| name == SHELL)
    }

    fn file(&self, service: &Service, sets: Vec<String>) -> Result<ContractFile, ServiceError> {
        self.place.file(service, &Agents::of(service)?, sets)
    }
}

impl AgentPlace {
    fn file(
        &self,
        service: &Service,
        agents: &Agents,
        sets: Vec<String>,
    ) -> Result<ContractFile, ServiceError> {
        match self {
            Self::File(path) => {
                let name = path.strip_prefix(&service.cwd).unwrap_or(path);
                Ok(ContractFile::given(service, name.to_owned(), sets))
            }
            Self::Registered(chosen) => agents.contract_file(service, chosen, sets),
        }
    }
}

/// The fault of an agent's contract, as one of the file of items: that names the contract.
fn of_item(item: &WorkItem, fault: ServiceError) -> ServiceError {
    match fault {
        ServiceError::Contract(ContractFault::Unreadable { path, reason }) => WorkFault::NoAgent {
            agent: item.agent_id.clone(),
            path,
            reason,
        }
        .into(),
        fault => fault,
    }
}

/// The workspace of an agent's tools, as a value of its contract.
fn workspace_set(workspace: &Path) -> Result<String, WorkFault> {
    let text = workspace.to_str().ok_or_else(|| WorkFault::Unnameable {
        path: workspace.to_owned(),
    })?;
    Ok(format!("tools.workspace={}", Value::from(text)))
}

/// The turns that so many calls may take, one by one, and the last answer.
fn turns_set(calls: u64) -> String {
    let turns = calls.saturating_add(1).max(DEFAULT_TURNS);
    format!("max_turns={}", turns.min(u32::MAX.into()))
}

/// The sandbox that an item states, as a value of a contract.
fn sandbox_set(item: &WorkItem) -> Option<String> {
    let sandbox = item.sandbox.as_ref()?;
    Some(match sandbox {
        Value::String(word) => format!("tools.sandbox={word}"),
        Value::Bool(false) => "tools.sandbox=off".to_owned(),
        terms => format!("tools.sandbox={terms}"),
    })
}

/// The task of the agent, with the items that it reconciles. One that asks for JSON gets the description as it is.
pub(super) fn task_of(item: &WorkItem, reconciled: &[Receipt], spec: &ContractSpec) -> String {
    let mut text = item.description.clone();
    if spec.input.is_some() {
        return text;
    }
    let lists = [
        ("Input files", &item.input_files),
        (
            "Files that must exist when you are done",
            &item.output_files,
        ),
    ];
    for (title, paths) in lists {
        if !paths.is_empty() {
            let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
            text = format!("{text}\n\n{title}: {}", paths.join(", "));
        }
    }
    if let Some(command) = &item.test_command {
        text = format!("{text}\n\nThis command must succeed afterwards: {command}");
    }
    text.push_str(&task_text(reconciled));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(more: &str) -> WorkItem {
        let text = format!(
            r#"{{"id": "w", "agent_id": "agent-1", "description": "Write the page"{more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    /// 004/4.atomic.3
    #[test]
    fn the_workspace_and_the_sandbox_of_an_item_replace_those_of_the_contract() {
        let workspace = workspace_set(Path::new("/a b/\"c")).unwrap();
        assert_eq!(workspace, r#"tools.workspace="/a b/\"c""#);
        let sandbox = |more: &str| sandbox_set(&item(more));
        assert_eq!(sandbox(""), None);
        let off = Some("tools.sandbox=off".to_owned());
        assert_eq!(sandbox(r#", "sandbox": "off""#), off);
        assert_eq!(sandbox(r#", "sandbox": false"#), off);
        let terms = Some(r#"tools.sandbox={"network":"on"}"#.to_owned());
        assert_eq!(sandbox(r#", "sandbox": {"network": "on"}"#), terms);
    }

    #[test]
    fn the_turns_suffice_for_all_calls_and_are_never_fewer_than_those_of_a_contract() {
        assert_eq!(turns_set(50), "max_turns=51");
        assert_eq!(turns_set(3), "max_turns=10");
        assert_eq!(turns_set(u64::MAX), "max_turns=4294967295");
    }

    /// 004/2.item.3, 004/2.context.3
    #[test]
    fn the_agent_is_told_its_files_and_its_tests() {
        let more = r#", "output_files": ["a.md"], "test_command": "make test""#;
        let text = task_of(&item(more), &[], &ContractSpec::default());
        assert_eq!(
            text,
            "Write the page\n\nFiles that must exist when you are done: a.md\n\n\
             This command must succeed afterwards: make test"
        );
    }
}
