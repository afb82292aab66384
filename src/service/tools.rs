//! The tools that a contract offers, with servers, schemas and pins. Calls none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::check::preview::preview;
use crate::contract_file::{ContractFile, look_for_agent_file};
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::service::Service;
use crate::workflow::check::as_written;
use monolith_core::contract::{
    ApprovalAction, ContractSpec, DelegateTerms, ExecutionContract, SandboxTerms, ServerKind,
    ToolTerms, tool_warnings,
};
use monolith_core::message::Digest;
use monolith_host::driver::{Preview, ServersToStart};

/// The contract file whose tools are listed.
#[derive(Clone, Debug, Default)]
pub struct ToolsRequest {
    /// Contract or workflow file; `None` for the usual file of the working folder.
    pub file: Option<PathBuf>,
    /// Changes of its values, as KEY=VALUE.
    pub sets: Vec<String>,
}

impl ToolsRequest {
    /// Returns the file.
    ///
    /// # Errors
    ///
    /// No file is named, and the working folder has none.
    pub fn contract_file(&self, service: &Service) -> Result<ContractFile, ServiceError> {
        if self.file.is_none() {
            look_for_agent_file(service, None, "tools FILE")?;
        }
        let (file, sets) = (self.file.clone(), self.sets.clone());
        Ok(ContractFile::given_or_found(service, file, sets))
    }

    /// True if a workflow is named.
    #[must_use]
    pub fn is_workflow(&self, file: &ContractFile) -> bool {
        self.file.is_some() && file.is_workflow()
    }
}

/// Starts the tool servers of a file, and returns the contract with its tools.
///
/// # Errors
///
/// The file gives no contract or needs trust.
pub async fn tools(service: &Service, request: &ToolsRequest) -> Result<Preview, ServiceError> {
    let file = request.contract_file(service)?;
    let spec = if request.is_workflow(&file) {
        contract_of_workflow(service, request, &file)?
    } else {
        file.read(service)?
    };
    preview(service, &file, spec, Vec::new(), ServersToStart::All).await
}

/// The contract of a workflow's file. Each agent that a step delegates to has its own tools.
fn contract_of_workflow(
    service: &Service,
    request: &ToolsRequest,
    file: &ContractFile,
) -> Result<ContractSpec, ServiceError> {
    let name = file.name().display().to_string();
    as_written(&name, request.sets.iter().map(|set| format!("--set {set}")))?;
    let workflow = file.read_workflow(service)?;
    file.judge_workflow(service, &workflow)?;
    let path = file.name().to_owned();
    Ok(workflow.contract.ok_or(ContractFault::Workflow { path })?)
}

/// The tools of a contract as a document for programs.
#[derive(Debug, Serialize)]
pub struct ToolsDocument<'c> {
    /// Servers that did not come up and tools that are left out, and why, by server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<ListedFault<'c>>,
    servers: BTreeMap<&'c str, ListedServer<'c>>,
    tools: Vec<ListedTool<'c>>,
    /// Warnings about the definitions.
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ListedFault<'c> {
    detail: &'c str,
    server: &'c str,
}

#[derive(Debug, Serialize)]
struct ListedServer<'c> {
    kind: ServerKind,
    available: bool,
    pin: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'c SandboxTerms>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'c str>,
}

#[derive(Debug, Serialize)]
struct ListedTool<'c> {
    name: &'c str,
    origin: &'c str,
    /// True if models are offered it.
    exposed: bool,
    /// The providers whose models are not offered it; absent where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept_from: Vec<&'c str>,
    /// Rules about its calls, the first that fits first; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approval: Vec<ToolRule>,
    pin: Digest,
    schema_tokens: u64,
    /// Its terms, where it is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'c DelegateTerms>,
    description: &'c str,
    input_schema: &'c Value,
    annotations: &'c Value,
}

/// A rule about the calls of a tool.
#[derive(Debug, Serialize)]
pub struct ToolRule {
    /// Place of the rule in the contract.
    pub rule: String,
    /// Action on the call.
    pub action: ApprovalAction,
    /// True if it is about some arguments only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub some: bool,
}

/// Returns the rules about the calls of a tool.
#[must_use]
pub fn rules(contract: &ExecutionContract, tool: &ToolTerms) -> Vec<ToolRule> {
    let rules = contract.rules_of(&tool.name).into_iter();
    let rules = rules.map(|(rule, action, some)| ToolRule {
        rule: rule.to_string(),
        action,
        some,
    });
    rules.collect()
}

/// True if models are offered the tool.
#[must_use]
pub fn is_exposed(contract: &ExecutionContract, tool: &ToolTerms) -> bool {
    contract
        .exposed_tools()
        .any(|other| other.name == tool.name)
}

/// Returns the providers whose models are not offered the tool.
#[must_use]
pub fn kept_from<'c>(contract: &'c ExecutionContract, tool: &ToolTerms) -> Vec<&'c str> {
    let targets = contract.targets.iter().enumerate();
    let kept = targets.filter(|(index, _)| !contract.offers_to(*index, tool));
    let names: BTreeSet<&str> = kept.map(|(_, target)| target.provider.as_str()).collect();
    names.into_iter().collect()
}

impl<'c> ToolsDocument<'c> {
    /// Returns the document of a contract.
    #[must_use]
    pub fn of(preview: &'c Preview) -> Self {
        let contract = &preview.contract;
        let faults = preview.faults.iter().map(|fault| ListedFault {
            detail: &fault.detail,
            server: &fault.server,
        });
        let servers = contract.servers.iter().map(|(name, server)| {
            let listed = ListedServer {
                kind: server.kind,
                available: server.available,
                pin: server.pin,
                command: server.command.as_deref(),
                sandbox: server.sandbox.as_ref(),
                url: server.url.as_deref(),
            };
            (name.as_str(), listed)
        });
        let tools = contract.tools.iter().map(|tool| ListedTool {
            name: &tool.name,
            origin: &tool.origin,
            exposed: is_exposed(contract, tool),
            kept_from: kept_from(contract, tool),
            approval: rules(contract, tool),
            pin: tool.pin,
            schema_tokens: tool.schema_tokens,
            agent: contract.agents.get(&tool.name),
            description: &tool.description,
            input_schema: &tool.input_schema,
            annotations: &tool.annotations,
        });
        Self {
            faults: faults.collect(),
            servers: servers.collect(),
            tools: tools.collect(),
            warnings: tool_warnings(contract),
        }
    }
}
