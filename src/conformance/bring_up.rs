//! From a case to a contract: the parts that a shell does before a run, with what it finds given by the case.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::CaseError;
use super::case::{Base, Case, DocumentText, ServerText, bare, file_of};
use monolith_core::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract, IntentPolicyResolver,
    ServerCapability, ServerKind, TargetCapability, ToolCapability,
};
use monolith_core::kernel::{BringUpFault, RunStarted};
use monolith_core::message::{Digest, RunId};

/// The start of a run.
pub(super) struct BroughtUp {
    pub(super) contract: ExecutionContract,
    pub(super) started: RunStarted,
}

/// The result of bringing up a contract.
pub(super) enum BringUp {
    /// A contract, so a run.
    Made(Box<BroughtUp>),
    /// A file from which no contract can be made, and why.
    Refused(String),
}

pub(super) fn bring_up(id: &str, base: &Base, case: &Case) -> Result<BringUp, CaseError> {
    let file = file_of(id);
    let mut keys = Value::Object(base.contract.clone());
    let line = case.contract.as_ref().map(|c| c.referenced.line());
    if let Some(contract) = &case.contract {
        lay_over(&mut keys, &Value::Object(contract.value.clone()));
    }
    if let Some(casting) = &case.casting {
        casting.lay_over(&mut keys);
    }
    let spec = match ContractSpec::parse(&file, &keys.to_string(), &[]) {
        Ok(spec) => spec,
        Err(errors) if case.expect.refused.is_some() => {
            let rules = errors.errors.into_iter().map(|e| e.rule);
            return Ok(BringUp::Refused(rules.collect::<Vec<_>>().join("; ")));
        }
        Err(errors) => {
            let faults = errors.errors.iter().map(|e| {
                let help = e.help.as_ref().map(|help| format!(" ({help})"));
                format!("{}: {}{}", e.path, e.rule, help.unwrap_or_default())
            });
            let rule = format!("contract: {}", faults.collect::<Vec<_>>().join("; "));
            return Err(CaseError::new(&file, line, rule));
        }
    };
    let mut servers = base.servers.clone();
    servers.extend(case.servers.clone());
    let mut manifest = manifest(&spec, &servers);
    if let Some(casting) = &case.casting {
        manifest.targets = vec![casting.capability()];
    }
    let contract = match ContractFactory.make(&spec, &manifest, None) {
        Ok(contract) => contract,
        Err(refusal) => return Ok(BringUp::Refused(refusal.to_string())),
    };
    let contract = match &case.document {
        None => contract,
        Some(changes) => changed(&contract, changes)
            .map_err(|fault| CaseError::new(&file, None, format!("document: {fault}")))?,
    };
    let other_hash = case
        .document
        .as_ref()
        .is_some_and(|d| d.started_with_other_hash);
    let started = RunStarted {
        addresses: Vec::new(),
        bring_up: faults(&manifest),
        confinement: Vec::new(),
        contract_hash: if other_hash {
            Digest::of(b"another contract")
        } else {
            contract.rehash()
        },
        inherited: None,
        intent_words: IntentPolicyResolver::resolve(
            spec.page,
            spec.tool_policy,
            spec.task.as_deref(),
        )
        .matched,
        messages: RunStarted::opening(&contract.system, spec.task.as_deref().unwrap_or_default()),
        parent: None,
        provider_states: Vec::new(),
        run_id: run_id(id, &file)?,
        started_unix_ms: 0,
        tokenizer_fault: None,
        tool_servers: Vec::new(),
        workspace: None,
    };
    Ok(BringUp::Made(Box::new(BroughtUp { contract, started })))
}

/// `group/name` as the name of a run.
fn run_id(id: &str, file: &str) -> Result<RunId, CaseError> {
    let name = bare(id).replace('/', ".");
    RunId::try_from(name).map_err(|fault| CaseError::new(file, None, fault.to_string()))
}

fn manifest(spec: &ContractSpec, servers: &BTreeMap<String, ServerText>) -> CapabilityManifest {
    let capability = |(name, server): (&String, &ServerText)| {
        let defined = spec.tools.servers.get(name);
        let kind = defined.map_or(ServerKind::Builtin, |server| server.transport.kind());
        let tools = server.tools.iter().map(|(name, tool)| ToolCapability {
            annotations: Value::Null,
            description: tool.description.clone(),
            input_schema: tool.schema.clone(),
            name: name.clone(),
            schema_tokens: tool.schema_tokens,
        });
        let tools = if server.available {
            tools.collect()
        } else {
            Vec::new()
        };
        let found = ServerCapability {
            available: server.available,
            kind,
            tools,
        };
        (name.clone(), found)
    };
    CapabilityManifest {
        servers: servers.iter().map(capability).collect(),
        targets: vec![TargetCapability::default(); spec.targets.len()],
    }
}

fn faults(manifest: &CapabilityManifest) -> Vec<BringUpFault> {
    let down = manifest.servers.iter().filter(|(_, s)| !s.available);
    down.map(|(name, _)| BringUpFault::new(name.clone(), "did not start".to_owned()))
        .collect()
}

/// The contract as somebody changed its document.
fn changed(
    contract: &ExecutionContract,
    changes: &DocumentText,
) -> Result<ExecutionContract, String> {
    let mut document: Map<String, Value> =
        serde_json::from_str(&contract.canonical_text()).map_err(|e| e.to_string())?;
    for (key, value) in &changes.set {
        let slot = document
            .get_mut(key)
            .ok_or_else(|| format!("the contract has no key `{key}`"))?;
        lay_over(slot, value);
    }
    let decode = |document: &Map<String, Value>| {
        let text = serde_json::to_string(document).map_err(|e| e.to_string())?;
        ExecutionContract::decode(&text).map_err(|e| e.to_string())
    };
    if !changes.reseal {
        return decode(&document);
    }
    // The id covers the document without id and hash (§8), the hash everything but itself.
    let mut terms = document.clone();
    for key in ["contract_hash", "contract_id"] {
        terms.remove(key);
    }
    let terms = serde_json_canonicalizer::to_vec(&terms).map_err(|e| e.to_string())?;
    let id = format!("c-{}", Digest::of(&terms).short(16));
    document.insert("contract_id".to_owned(), Value::String(id));
    let hash = decode(&document)?.rehash().to_string();
    document.insert("contract_hash".to_owned(), Value::String(hash));
    decode(&document)
}

/// Lays `over` onto `under`: mappings key by key, anything else as a whole.
fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}
