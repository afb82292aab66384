//! A contract file judged without a run, by itself and with the agents that it may call.

use std::path::PathBuf;

use super::below::Beside;
use super::check_report::{CheckReport, down};
use super::failures::{failures, known_failures};
use super::preview::preview;
use crate::contract_file::{ContractFile, look_for_agent_file};
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::secrets;
use crate::service::Service;
use crate::trust::reached_below;
use crate::untrusted::ReachedBelow;
use monolith_core::contract::ContractSpec;
use monolith_core::kernel::CheckName;
use monolith_core::message::AgentMessage;
use monolith_host::driver::{Preview, ServersToStart, unset_by_itself};

/// A contract file and changes of its values.
#[derive(Clone, Debug, Default)]
pub struct ContractRequest {
    /// Contract file; `None` for the usual file of the working folder.
    pub file: Option<PathBuf>,
    /// Changes, as KEY=VALUE.
    pub sets: Vec<String>,
    /// True if the tool servers are started.
    pub start_servers: bool,
    /// Words to type with a file, for the error of a folder without one.
    pub with_file: &'static str,
}

/// A contract file that was judged.
#[derive(Debug)]
pub struct ContractCheck {
    /// The contract.
    pub preview: Preview,
    /// The report for programs.
    pub report: CheckReport,
    /// Errors that keep a run from beginning.
    pub unmet: Vec<ServiceError>,
}

/// A contract file that gives no contract.
#[derive(Debug)]
pub struct CheckRefused {
    /// The error.
    pub fault: ServiceError,
    /// Further errors.
    pub others: Vec<ServiceError>,
}

impl From<ServiceError> for Box<CheckRefused> {
    fn from(fault: ServiceError) -> Self {
        let others = Vec::new();
        Self::new(CheckRefused { fault, others })
    }
}

impl CheckRefused {
    /// True if files need trust: a surface may ask its person, and try again.
    #[must_use]
    pub const fn needs_trust(&self) -> bool {
        matches!(
            self.fault,
            ServiceError::Contract(ContractFault::Untrusted(_))
        )
    }

    /// Returns the report for programs.
    #[must_use]
    pub fn report(&self) -> CheckReport {
        CheckReport::refused(&self.fault).with_errors(&self.others)
    }
}

impl ContractRequest {
    /// Returns the file.
    #[must_use]
    pub fn contract_file(&self, service: &Service) -> ContractFile {
        ContractFile::given_or_found(service, self.file.clone(), self.sets.clone())
    }

    /// Reads the file. Its files must be trusted if servers are started.
    fn read(&self, service: &Service) -> Result<(ContractFile, ContractSpec), ServiceError> {
        if self.file.is_none() {
            look_for_agent_file(service, None, self.with_file)?;
        }
        let file = self.contract_file(service);
        let spec = if self.start_servers {
            file.read(service)?
        } else {
            file.read_to_look(service)?
        };
        Ok((file, spec))
    }
}

/// Returns the contract of a file.
///
/// # Errors
///
/// The file gives no contract, or needs trust.
pub async fn contract(
    service: &Service,
    request: &ContractRequest,
) -> Result<Preview, ServiceError> {
    let (file, spec) = request.read(service)?;
    let servers = if request.start_servers {
        ServersToStart::All
    } else {
        ServersToStart::Builtin
    };
    preview(service, &file, spec, Vec::new(), servers).await
}

/// Judges a contract file.
///
/// # Errors
///
/// The file gives no contract, or needs trust.
pub async fn check(
    service: &Service,
    request: &ContractRequest,
) -> Result<ContractCheck, Box<CheckRefused>> {
    let (file, spec) = request.read(service)?;
    if request.start_servers {
        let beside = Beside::default();
        return check_started(service, &file, (&spec, Vec::new()), beside).await;
    }
    let below = file.agents_below(service, &spec)?;
    let builtin = ServersToStart::Builtin;
    let preview = preview(service, &file, spec, Vec::new(), builtin).await?;
    let below = reached_below(service, &below)?;
    Ok(judged(&file, (preview, below), Beside::default()))
}

/// Judges a contract file for a dry run: its servers are started, and the keys of a run are needed. `saved` is the conversation that the run begins
/// with, and `others` are errors that were found before.
///
/// # Errors
///
/// The file gives no contract.
pub async fn check_of_run(
    service: &Service,
    file: &ContractFile,
    (spec, saved, others): (&ContractSpec, Vec<AgentMessage>, Vec<ServiceError>),
) -> Result<ContractCheck, Box<CheckRefused>> {
    let beside = Beside::of_a_run(others);
    check_started(service, file, (spec, saved), beside).await
}

/// Judges a file whose tool servers are started, as far as they can be, and the agents that may be called.
async fn check_started(
    service: &Service,
    file: &ContractFile,
    (spec, saved): (&ContractSpec, Vec<AgentMessage>),
    mut beside: Beside,
) -> Result<ContractCheck, Box<CheckRefused>> {
    let possible = ServersToStart::Possible;
    let checked = match preview(service, file, spec.clone(), saved, possible).await {
        Ok(mut preview) => {
            let unset = beside.unset_keys(service, spec, &preview.reach);
            preview.unmet.extend(unset);
            let found = (file, preview.unmet.as_slice());
            beside
                .judge(service, found, (spec, &preview.contract))
                .await;
            // An agent whose file cannot be read is among the other errors.
            let below = file.agents_below(service, spec).unwrap_or_default();
            reached_below(service, &below).map(|below| (preview, below))
        }
        Err(fault) => {
            beside.add(file, unset_by_itself(spec, &service.environment));
            Err(fault)
        }
    };
    match checked {
        Ok(checked) => Ok(judged(file, checked, beside)),
        Err(fault) => {
            let others = beside.unmet;
            Err(Box::new(CheckRefused { fault, others }))
        }
    }
}

fn judged(
    file: &ContractFile,
    (mut preview, below): (Preview, Vec<ReachedBelow>),
    beside: Beside,
) -> ContractCheck {
    let unmet = std::mem::take(&mut preview.unmet).into_iter();
    let unmet = unmet.map(|fault| file.located(fault));
    let unmet: Vec<ServiceError> = unmet.chain(beside.unmet).collect();
    let report = CheckReport::of(&preview, below, &unmet);
    ContractCheck {
        preview,
        report: report.with_checks_below(beside.checks, beside.notes),
        unmet,
    }
}

impl ContractCheck {
    /// Returns the places of a file that a failed check is about.
    #[must_use]
    pub fn places(&self, file: &ContractFile, check: CheckName) -> Vec<String> {
        let preview = &self.preview;
        if preview.not_started.is_empty() || check != CheckName::Tools {
            file.places_of(&preview.contract, [check], &preview.origins)
        } else {
            file.places_of_servers(&preview.contract, &down(preview))
        }
    }
}

/// Returns the failures of a file that is to hold `spec`, in the order of the checks. Starts no server.
///
/// # Errors
///
/// The file would give no contract.
pub async fn judge(
    service: &Service,
    file: &ContractFile,
    spec: ContractSpec,
) -> Result<Vec<(CheckName, String)>, ServiceError> {
    let preview = looked_at(service, file, spec).await?;
    let unmet = preview.unmet.iter();
    let unmet = unmet.map(|fault| (CheckName::Structure, fault.to_string()));
    Ok(failures(&preview).into_iter().chain(unmet).collect())
}

/// Returns the failures of the terms alone, whatever models and servers exist. Starts nothing.
///
/// # Errors
///
/// The file would give no contract.
pub async fn judge_terms(
    service: &Service,
    file: &ContractFile,
    spec: ContractSpec,
) -> Result<Vec<String>, ServiceError> {
    let preview = looked_at(service, file, spec).await?;
    let failed = known_failures(&preview).into_iter();
    let failed = failed.filter(|(check, _)| *check == CheckName::Structure);
    Ok(failed.map(|(_, why)| why).collect())
}

async fn looked_at(
    service: &Service,
    file: &ContractFile,
    spec: ContractSpec,
) -> Result<Preview, ServiceError> {
    secrets::learn(&spec, &service.environment);
    let builtin = ServersToStart::Builtin;
    Box::pin(preview(service, file, spec, Vec::new(), builtin)).await
}
