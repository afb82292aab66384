//! The results of `contract check`, as its JSON document.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::check::dry_precheck::dry_precheck;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::exit::Exit;
use crate::secrets;
use crate::untrusted::ReachedBelow;
use monolith_core::adapter::Adapter;
use monolith_core::contract::{
    TermFault, contract_warnings, gate_awaits_tools, structure_faults, unknown_windows,
};
use monolith_core::kernel::{BringUpFault, Check, CheckName};
use monolith_core::message::Digest;
use monolith_host::driver::{Preview, Reach};

/// The output of `monolith contract check --json`.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    /// True if a run would pass every check that needs no model, and each was made.
    pub(crate) ok: bool,
    /// The exit code of the command.
    pub exit_code: u8,
    /// The contract; `None` if the file gives none.
    contract_id: Option<String>,
    contract_hash: Option<Digest>,
    /// All checks of PRECHECK except the last, in their order; empty if there is no contract.
    pub checks: Vec<Checked>,
    /// Checks that the runs of agents which may be called would fail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks_below: Vec<CheckedBelow>,
    /// The errors of the file, in its order.
    errors: Vec<Wrong>,
    /// The reach of a run: commands, hosts, variables, folders; `None` if there is no contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    reaches: Option<Reach>,
    /// The reach of each agent that may be called, and of each that those may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents_below: Vec<ReachedBelow>,
    /// The source file of each value that the contract's file does not hold.
    origins: BTreeMap<String, String>,
    /// Tool servers that were not started, whose pins the contract lacks.
    not_started: Vec<String>,
    /// The started servers that did not come up, and offers that differ from their pins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    server_faults: Vec<BringUpFault>,
    /// The same of the agents that may be called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server_faults_below: Vec<FaultBelow>,
    /// For each target that has one, the parameters that its protocol has no field for.
    pub unsent: Vec<Unsent>,
    /// Places of secrets that are too short or too plain to be taken out.
    unmatched: Vec<String>,
    /// Statements that a contract may make but that are hardly intended.
    pub warnings: Vec<String>,
}

/// Parameters of a target that no request to it carries.
#[derive(Debug, Serialize)]
pub struct Unsent {
    /// Position of the model in the contract.
    pub target: usize,
    /// Keys of its `sampling`.
    pub keys: Vec<&'static str>,
}

/// One check.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Name.
    pub name: CheckName,
    /// `None` if it could not be made.
    pub ok: Option<bool>,
    /// Details in words.
    pub detail: String,
}

/// A check that an agent's run would fail.
#[derive(Debug, Serialize)]
pub struct CheckedBelow {
    pub(super) name: CheckName,
    /// Details in words.
    pub detail: String,
    /// The agent's file, as messages call it.
    pub file: String,
    /// The places in the files that it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
}

/// A server of an agent that did not come up, or a problem with one's tools.
#[derive(Debug, Serialize)]
pub struct FaultBelow {
    /// Details in words.
    pub detail: String,
    /// The agent's file, as messages call it.
    pub file: String,
    /// True if the server came up.
    #[serde(skip)]
    pub is_up: bool,
    /// Name of the tool server.
    pub server: String,
}

/// One broken rule. Where it is none of the file's text, only the rule is there.
#[derive(Debug, Serialize)]
struct Wrong {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl CheckReport {
    /// Of a contract that could be made.
    pub fn of(preview: &Preview, agents_below: Vec<ReachedBelow>, unmet: &[ServiceError]) -> Self {
        let mut exit = unmet.first().map_or(Exit::OK, Exit::from);
        let mut checks = Vec::new();
        let begun = dry_precheck(preview);
        for check in begun.checks {
            let down = down_detail(preview, &check);
            let not_known = not_known(preview, &check).filter(|_| down.is_none());
            if !check.ok && not_known.is_none() && exit == Exit::OK {
                exit = code_of(check.name);
            }
            checks.push(Checked {
                name: check.name,
                ok: not_known.is_none().then_some(check.ok),
                detail: match (check.ok, not_known, down) {
                    (_, _, Some(down)) => down,
                    (_, Some(why), None) => why.to_owned(),
                    (true, None, None) => title_of(check.name).to_owned(),
                    (false, None, None) => check.detail,
                },
            });
        }
        Self {
            ok: unmet.is_empty() && checks.iter().all(|check| check.ok == Some(true)),
            exit_code: exit.0,
            contract_id: Some(preview.contract.contract_id().to_owned()),
            contract_hash: Some(preview.contract.contract_hash()),
            checks,
            checks_below: Vec::new(),
            errors: unmet.iter().flat_map(Wrong::all).collect(),
            not_started: preview.not_started.clone(),
            server_faults: preview.faults.clone(),
            server_faults_below: Vec::new(),
            reaches: Some(preview.reach.clone()),
            agents_below,
            origins: preview
                .origins
                .iter()
                .map(|(path, origin)| (path.clone(), origin.to_string()))
                .collect(),
            unsent: unsent(preview),
            unmatched: preview.unmatched.iter().map(|u| u.place.clone()).collect(),
            warnings: contract_warnings(&preview.contract)
                .into_iter()
                .chain(begun.over_budget)
                .collect(),
        }
    }

    /// Of a file that gives no contract.
    pub fn refused(fault: &ServiceError) -> Self {
        Self {
            ok: false,
            exit_code: Exit::from(fault).0,
            contract_id: None,
            contract_hash: None,
            checks: Vec::new(),
            checks_below: Vec::new(),
            errors: Wrong::all(fault),
            not_started: Vec::new(),
            server_faults: Vec::new(),
            server_faults_below: Vec::new(),
            reaches: None,
            agents_below: Vec::new(),
            origins: BTreeMap::new(),
            unsent: Vec::new(),
            unmatched: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl CheckReport {
    /// The same with what was found of the agents that may be called.
    #[must_use]
    pub fn with_checks_below(mut self, checks: Vec<CheckedBelow>, notes: Vec<FaultBelow>) -> Self {
        if let Some(first) = checks.first() {
            self.ok = false;
            if self.exit_code == Exit::OK.0 {
                self.exit_code = code_of(first.name).0;
            }
        }
        self.checks_below = checks;
        self.server_faults_below = notes;
        self
    }

    /// The same with more that is wrong.
    #[must_use]
    pub fn with_errors(mut self, faults: &[ServiceError]) -> Self {
        self.errors.extend(faults.iter().flat_map(Wrong::all));
        self
    }
}

impl Wrong {
    /// Returns the broken rules of an error.
    fn all(fault: &ServiceError) -> Vec<Self> {
        match fault {
            ServiceError::Spec(faults) | ServiceError::Located(_, faults) => {
                let wrong = faults.errors.iter().map(|error| {
                    let (file, line, column) = faults.place_of(error);
                    Self {
                        file: error.set.is_none().then(|| file.to_owned()),
                        set: error.set.as_deref().map(shown),
                        line: Some(line),
                        column: Some(column),
                        path: Some(error.path.clone()),
                        rule: shown(&error.rule),
                        help: error.help.as_deref().map(shown),
                    }
                });
                wrong.collect()
            }
            ServiceError::Contract(ContractFault::Include(broken)) => {
                let each = broken.faults.iter().map(|fault| Self {
                    file: Some(fault.file.display().to_string()),
                    set: None,
                    line: Some(fault.line),
                    column: None,
                    path: None,
                    rule: shown(&fault.rule),
                    help: None,
                });
                each.collect()
            }
            fault => vec![Self {
                file: None,
                set: None,
                line: None,
                column: None,
                path: None,
                rule: fault.summary(),
                help: None,
            }],
        }
    }
}

/// True if a check fails only because a context window is not known: that is a separate error.
pub(super) fn awaits_window(preview: &Preview, check: &Check) -> bool {
    let is_window = |fault: &TermFault| {
        let path = fault.path.as_deref();
        path.is_some_and(|path| path.ends_with("context_window"))
    };
    !check.ok
        && !unknown_windows(&preview.contract).is_empty()
        && match check.name {
            CheckName::Structure => structure_faults(&preview.contract).iter().all(is_window),
            CheckName::Context => true,
            _ => false,
        }
}

/// Returns the reason why a check cannot be made, if any: it judges facts that only started servers reveal.
pub(super) fn not_known(preview: &Preview, check: &Check) -> Option<&'static str> {
    if awaits_window(preview, check) {
        return Some("a context window is not known (see the error)");
    }
    if preview.not_started.is_empty() {
        return None;
    }
    let fault = (!check.ok).then_some(check.detail.as_str());
    match check.name {
        CheckName::Tools if preview.are_started => {
            Some("tool servers were not started, for they need variables (see the errors)")
        }
        CheckName::Tools => Some("tool servers were not started (--start-servers)"),
        CheckName::Profile if gate_awaits_tools(&preview.contract, fault) => Some(
            "the token gate is made of the tools, and tool servers were not started (--start-servers)",
        ),
        _ => None,
    }
}

/// The servers that did not come up, in the order of their names.
pub fn down(preview: &Preview) -> Vec<&BringUpFault> {
    let faults = preview.faults.iter();
    faults.filter(|fault| !is_up(preview, fault)).collect()
}

/// True if the server of a fault came up.
pub fn is_up(preview: &Preview, fault: &BringUpFault) -> bool {
    let server = preview.contract.servers.get(&fault.server);
    server.is_some_and(|server| server.available)
}

/// Returns the faults of started servers that did not come up, if others were not started.
pub(super) fn down_detail(preview: &Preview, check: &Check) -> Option<String> {
    let down = down(preview);
    if check.name != CheckName::Tools || preview.not_started.is_empty() || down.is_empty() {
        return None;
    }
    let faults = down.into_iter();
    let faults = faults
        .map(|BringUpFault { detail, server, .. }| format!("the tool server `{server}`: {detail}"));
    Some(faults.collect::<Vec<_>>().join("; "))
}

/// Returns the author's settings that a target cannot send. Defaults do not count.
fn unsent(preview: &Preview) -> Vec<Unsent> {
    let contract = &preview.contract;
    let each = (0..contract.targets.len()).map(|target| Unsent {
        target,
        keys: Adapter::unsent(contract, target)
            .unwrap_or_default()
            .into_iter()
            .filter(|key| {
                preview
                    .written
                    .iter()
                    .any(|(at, written)| at.is_none_or(|at| at == target) && written == key)
            })
            .collect(),
    });
    each.filter(|unsent| !unsent.keys.is_empty()).collect()
}

/// A text of the file, without what is known to be secret.
fn shown(text: &str) -> String {
    secrets::without_secrets(text)
}

/// The exit code of a run that fails this check (semantics §3).
pub const fn code_of(check: CheckName) -> Exit {
    match check {
        CheckName::Tools | CheckName::Backend => Exit::SETUP,
        CheckName::Structure
        | CheckName::Provenance
        | CheckName::Hash
        | CheckName::Format
        | CheckName::Semantics
        | CheckName::Profile
        | CheckName::Context => Exit::USAGE,
    }
}

/// Returns the meaning of a passed check.
const fn title_of(check: CheckName) -> &'static str {
    match check {
        CheckName::Structure => "numbers and names make sense together",
        CheckName::Provenance => "id, hash and profile are there",
        CheckName::Hash => "the hash is the document's",
        CheckName::Format => "the format is known",
        CheckName::Semantics => "the semantics version is known",
        CheckName::Tools => "every tool is there and is the pinned one",
        CheckName::Profile => "the model's profile goes with policy, grammar and transport",
        CheckName::Context => "the reserves and the first request fit the context window",
        CheckName::Backend => "a model answers",
    }
}
