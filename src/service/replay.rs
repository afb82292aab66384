//! A recorded run decided again: as it is recorded, or under another contract. Asks no model.

use std::path::PathBuf;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::error::input::InputFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::{brief, line};
use crate::verify::report::own_report;
use monolith_core::contract::{AuthorForm, ExecutionContract};
use monolith_core::kernel::{EventKind, RunStarted};
use monolith_core::message::TokenCounters;
use monolith_core::replay::{ReplayReport, WhatIf, WhatIfReport};
use monolith_core::transcript::{FirstBad, SealedEntry};
use monolith_host::driver::{self, ServersToStart};
use monolith_host::inference::BuiltInTokenizers;
use monolith_host::store::judge_store;

/// Verifies a run or a file, then decides it again. A flaw of the evidence is the first difference; the part that can be read is decided all
/// the same.
///
/// # Errors
///
/// The run verifies, and cannot be decided again.
pub fn replay(service: &Service, asked: &str, open: bool) -> Result<ReplayReport, ServiceError> {
    let flaw = evidence_flaw(service, asked)?;
    let report = service.source(asked)?.replayed(open);
    match (flaw, report) {
        (None, report) => report,
        (Some(flaw), Ok(report)) => Ok(report.with_flaw(&flaw)),
        (Some(flaw), Err(_)) => Ok(ReplayReport::default().with_flaw(&flaw)),
    }
}

/// Returns the first flaw of a run or a file, which may be in progress.
///
/// # Errors
///
/// The run cannot be read.
pub fn evidence_flaw(service: &Service, asked: &str) -> Result<Option<FirstBad>, ServiceError> {
    Ok(own_report(service, asked)?.first_bad)
}

/// The contract file of a replay, and the changes of its values.
#[derive(Clone, Debug, Default)]
pub struct ReplayFile {
    /// True if the changes that the run was begun with are made first.
    pub changed_then: bool,
    /// File to use in place of the one that the run was begun with.
    pub contract: Option<PathBuf>,
    /// Changes of its values, as KEY=VALUE.
    pub sets: Vec<String>,
}

/// Returns the contract file of a replay of `source`, which the caller names `asked`.
///
/// # Errors
///
/// The store may have been written by others, or the run was begun with no file.
pub fn contract_file(
    service: &Service,
    asked: &str,
    source: &Source,
    file: ReplayFile,
) -> Result<ContractFile, ServiceError> {
    let mut begun = match source {
        Source::Run(run_id, reader) => {
            // The chain does not cover it, and it decides which file starts commands and gets keys: only this user's counts.
            judge_store(&service.store_path()?)?;
            reader.invocation(run_id)?
        }
        Source::File(_) => None,
    };
    if let Some(begun) = begun.as_mut().filter(|_| !file.changed_then) {
        begun.sets.clear();
    }
    let found = ContractFile::of_run(service, begun, file.contract, file.sets);
    let none = || ContractFault::NoFileOfRun {
        asked: asked.to_owned(),
    };
    Ok(found.ok_or_else(none)?)
}

/// The other contract of a replay.
#[derive(Clone, Debug, Default)]
pub struct WhatIfRequest {
    /// Contract file; `None` for the recorded contract.
    pub contract: Option<PathBuf>,
    /// Name of a run, its beginning, `last`, or a file.
    pub run: String,
    /// Changes of the contract, as KEY=VALUE.
    pub sets: Vec<String>,
    /// True if the tool servers of the file are started.
    pub start_servers: bool,
}

/// The result of a replay under another contract.
#[derive(Debug)]
pub enum WhatIfAnswer {
    /// The run does not verify.
    Evidence(Box<ReplayReport>),
    /// The run was decided again.
    Judged {
        /// Values of the recorded contract that the changes replace.
        recorded: Vec<String>,
        /// Comparison of both.
        report: Box<WhatIfReport>,
    },
}

impl WhatIfAnswer {
    /// Returns the exit code of the answer.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Evidence(report) => Exit::of_replay(report),
            Self::Judged { report, .. } => Exit::of_what_if(report),
        }
    }
}

/// Decides a recorded run under another contract.
///
/// # Errors
///
/// The run cannot be read, the other contract is refused, or its file needs trust.
pub async fn what_if(
    service: &Service,
    request: &WhatIfRequest,
) -> Result<WhatIfAnswer, ServiceError> {
    if let Some(flaw) = evidence_flaw(service, &request.run)? {
        let report = ReplayReport::default().with_flaw(&flaw);
        return Ok(WhatIfAnswer::Evidence(Box::new(report)));
    }
    let file = what_if_file(service, request)?;
    let (recorded, first) = service.source(&request.run)?.first_entry()?;
    // The policy of the other contract depends on the task of the recorded run.
    let task = first.and_then(|entry| task_of(&entry, &recorded));
    let other = match &file {
        Some(file) => of_file(service, request, file, &recorded, task).await?,
        None => of_changes(request, &recorded, task.as_deref())?,
    };
    let what_if = service.source(&request.run)?.each_entry_with_blobs(
        |recorded, _| {
            let what_if = WhatIf::new(recorded, other.contract);
            what_if.counting_with(&*other.tokenizers)
        },
        |what_if, entry, blobs| what_if.take(entry, blobs),
    )?;
    let mut report = what_if.finish();
    report.not_compared.extend(other.notes);
    Ok(WhatIfAnswer::Judged {
        recorded: replaced_values(&recorded, &request.sets),
        report: Box::new(report),
    })
}

/// Returns the contract file that a request names; `None` for the recorded contract.
///
/// # Errors
///
/// As [`contract_file`].
pub fn what_if_file(
    service: &Service,
    request: &WhatIfRequest,
) -> Result<Option<ContractFile>, ServiceError> {
    let Some(contract) = request.contract.clone() else {
        return Ok(None);
    };
    let file = ReplayFile {
        changed_then: false,
        contract: Some(contract),
        sets: request.sets.clone(),
    };
    let source = service.source(&request.run)?;
    contract_file(service, &request.run, &source, file).map(Some)
}

/// Returns the values of the recorded contract that the changes of a request replace, in words.
///
/// # Errors
///
/// The run cannot be read.
pub fn recorded_values(
    service: &Service,
    request: &WhatIfRequest,
) -> Result<Vec<String>, ServiceError> {
    let (recorded, _) = service.source(&request.run)?.first_entry()?;
    Ok(replaced_values(&recorded, &request.sets))
}

/// The contract that a recorded run is decided under instead.
struct Other {
    contract: ExecutionContract,
    /// Notes about servers of which nothing is known.
    notes: Vec<String>,
    tokenizers: Box<dyn TokenCounters>,
}

/// The recorded contract with the changes. Reads nothing but the transcript, and starts nothing.
fn of_changes(
    request: &WhatIfRequest,
    recorded: &ExecutionContract,
    task: Option<&str>,
) -> Result<Other, ServiceError> {
    let name = format!("the contract of {}", request.run);
    let form = AuthorForm::of(recorded, &name, task)?;
    let changed = form.changed(&request.sets, &BuiltInTokenizers)?;
    let unknown = changed.unknown_servers.iter();
    Ok(Other {
        contract: changed.contract,
        notes: unknown.map(|server| not_started(server)).collect(),
        tokenizers: Box::new(BuiltInTokenizers),
    })
}

/// The contract that a file gives.
async fn of_file(
    service: &Service,
    request: &WhatIfRequest,
    file: &ContractFile,
    recorded: &ExecutionContract,
    task: Option<String>,
) -> Result<Other, ServiceError> {
    let spec = file.read(service)?;
    let mut run = file.request(service, spec, service.redaction_key()?);
    run.spec.task = task;
    let cancel = CancellationToken::new();
    let made = if request.start_servers {
        let made = driver::preview(&run, ServersToStart::All, &cancel).await?;
        made.counted_as(recorded)
    } else {
        driver::preview_recorded(&run, recorded, &cancel).await?
    };
    let faults = made.faults.iter();
    let faults = faults.map(|fault| format!("tools of {}: {}", fault.server, fault.detail));
    let unknown = made.not_started.iter().map(|server| not_started(server));
    Ok(Other {
        notes: unknown.chain(faults).collect(),
        contract: made.contract,
        tokenizers: Box::new(made.tokenizers),
    })
}

fn not_started(server: &str) -> String {
    format!(
        "tools of {server}: the recorded contract does not have this server so, and it was not started (--contract FILE --start-servers)"
    )
}

/// The task of the run, by its first entry.
fn task_of(entry: &SealedEntry, contract: &ExecutionContract) -> Option<String> {
    match entry.decode_event().ok()??.event {
        EventKind::RunStarted(started) => RunStarted::intent(started.judged_messages(contract)),
        _ => None,
    }
}

/// The values of the recorded contract that the changes replace.
fn replaced_values(recorded: &ExecutionContract, sets: &[String]) -> Vec<String> {
    let document = serde_json::from_str(&recorded.canonical_text()).unwrap_or(Value::Null);
    let keys = sets.iter().filter_map(|set| set.split_once('='));
    keys.map(|(key, _)| {
        let key = key.trim();
        let pointer = format!("/{}", key.replace('.', "/"));
        match document.pointer(&pointer) {
            Some(value) => format!("{key}: recorded {}", brief(&value.to_string(), 200)),
            None => format!("{}: the recorded contract has no such value", line(key)),
        }
    })
    .collect()
}

/// Returns the error of a change that a recorded run says nothing of: it is no part of the contract, and the recording came about without it.
#[must_use]
pub fn not_judged(set: &str) -> Option<InputFault> {
    let path = set.split_once('=').map_or(set, |(path, _)| path).trim();
    let (why, help) = if path == "task" {
        (
            "the recorded answers are answers to the recorded task",
            "to ask again: monolith run FILE --task TEXT; to continue the run: monolith continue RUN TEXT",
        )
    } else if path == "tools.workspace" {
        (
            "the recorded results of tools are of the recorded folder",
            "to ask again in the other folder: monolith run FILE --set tools.workspace=DIR",
        )
    } else if path.starts_with("providers.") && path.ends_with(".api_key_env") {
        (
            "the recorded answers came with the recorded key",
            "to ask again with the other key: monolith run FILE",
        )
    } else {
        return None;
    };
    let key = path.to_owned();
    Some(InputFault::NotJudged { key, why, help })
}
