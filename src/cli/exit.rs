//! Which exit code a fault has (semantics §3). A run's own outcome brings its code along
//! ([`Outcome::exit_code`](crate::kernel::Outcome::exit_code)); here are the faults that are no outcome.

use std::process::ExitCode;

use super::error::CliError;
use crate::driver::DriverError;
use crate::inference::{ModelStoreError, PullError};
use crate::replay::{Attribution, Difference, ForkFault, LiveReport, ReplayReport, WhatIfReport};
use crate::store::{EraseError, ExportError, ImportError, MigrateError, StoreError};
use crate::transcript::VerifyReport;

/// The code that the process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exit(pub(super) u8);

impl Exit {
    /// All is well.
    pub(super) const OK: Self = Self(0);
    /// The operator's, the system's or monolith's own fault.
    pub(super) const FAILED: Self = Self(1);
    /// A tool server or a model is not there.
    pub(super) const SETUP: Self = Self(3);
    /// Bad arguments or configuration.
    pub(super) const USAGE: Self = Self(4);
    /// A replay decided otherwise than was recorded.
    pub(super) const DIVERGED: Self = Self(6);
    /// A transcript is corrupt, tampered with or incomplete.
    pub(super) const EVIDENCE: Self = Self(7);

    /// What a verification comes to.
    pub(super) const fn of_verify(report: &VerifyReport) -> Self {
        if report.holds() {
            Self::OK
        } else {
            Self::EVIDENCE
        }
    }

    /// What asking again comes to.
    pub(super) fn of_live(report: &LiveReport) -> Self {
        Self::of_difference(report.same, report.first_difference.as_ref())
    }

    /// What another contract comes to.
    pub(super) const fn of_what_if(report: &WhatIfReport) -> Self {
        if report.same_outcome {
            Self::OK
        } else {
            Self::DIVERGED
        }
    }

    /// What a replay comes to: where the evidence itself is bad, that is what counts.
    pub(super) fn of_replay(report: &ReplayReport) -> Self {
        Self::of_difference(report.same, report.first_difference.as_ref())
    }

    fn of_difference(same: bool, first: Option<&Difference>) -> Self {
        if same {
            return Self::OK;
        }
        match first.map(|difference| difference.attribution) {
            Some(
                Attribution::Tampered
                | Attribution::Truncated
                | Attribution::Extended
                | Attribution::UnknownVersion,
            ) => Self::EVIDENCE,
            Some(
                Attribution::Contract
                | Attribution::Adapter
                | Attribution::Kernel
                | Attribution::Model
                | Attribution::Tool,
            )
            | None => Self::DIVERGED,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

impl From<&CliError> for Exit {
    fn from(error: &CliError) -> Self {
        match error {
            CliError::Spec(_)
            | CliError::Config(_)
            | CliError::ContractUnreadable { .. }
            | CliError::TranscriptUnreadable { .. }
            | CliError::NoSuchEntry { .. }
            | CliError::Key(_)
            | CliError::Billing(_)
            | CliError::TrustUnreadable { .. }
            | CliError::BrokenTrust { .. }
            | CliError::NoLog
            | CliError::NotInLog { .. }
            | CliError::NoSuchLogSize { .. }
            | CliError::LogFilter { .. }
            | CliError::FileExists { .. }
            | CliError::NoDemoRun
            | CliError::NoContractFile { .. }
            | CliError::NoFileOfRun { .. }
            | CliError::Fork(ForkFault::NoSuchEntry { .. } | ForkFault::Unanswered { .. })
            | CliError::NoSuchCase { .. }
            | CliError::NoKnownModel { .. }
            | CliError::NobodyChose
            | CliError::NoProfile { .. }
            | CliError::ModelStore(_)
            | CliError::ModelTrial { .. }
            | CliError::NoSuchProfile { .. }
            | CliError::LiveCase(_)
            | CliError::RecordsUnreadable { .. }
            | CliError::RecordsNotJudged { .. }
            | CliError::FileInsteadOfRun { .. }
            | CliError::NotConfirmed { .. }
            | CliError::Version { .. }
            | CliError::UnknownPart { .. }
            | CliError::NoFormat { .. }
            | CliError::StoreInsteadOfFile { .. }
            | CliError::BrokenProof { .. }
            | CliError::Import(
                ImportError::Unreadable { .. }
                | ImportError::OtherHistory { .. }
                | ImportError::OtherContract { .. }
                | ImportError::OwnRun { .. },
            )
            | CliError::Erase(
                EraseError::NotNamed { .. }
                | EraseError::Ambiguous { .. }
                | EraseError::NotHere { .. }
                | EraseError::Shared { .. },
            )
            | CliError::Migrate(
                MigrateError::Downgrade { .. }
                | MigrateError::UnknownTarget { .. }
                | MigrateError::Empty { .. },
            ) => Self::USAGE,
            CliError::ContractOfInit { exit, .. } => *exit,
            CliError::GetModel(fault) => Self::from(fault),
            CliError::ModelPull { .. }
            | CliError::ModelUnavailable { .. }
            | CliError::NothingToUse { .. } => Self::SETUP,
            CliError::Fork(ForkFault::DoesNotReplay { report, .. }) => Self::of_replay(report),
            CliError::Driver(fault) => Self::from(fault),
            CliError::Erase(EraseError::Store(fault))
            | CliError::Import(ImportError::Store(fault))
            | CliError::Migrate(MigrateError::Store(fault))
            | CliError::Store(fault)
            | CliError::Export(ExportError::Store(fault)) => Self::from(fault),
            CliError::Line { .. }
            | CliError::Entry { .. }
            | CliError::NoHeader { .. }
            | CliError::NotATranscript { .. }
            | CliError::NotVerified { .. }
            | CliError::ExportNotVerified { .. }
            | CliError::NothingTampered
            | CliError::Import(ImportError::NotVerified { .. } | ImportError::Tombstone { .. })
            | CliError::Erase(EraseError::Entry { .. })
            | CliError::Export(ExportError::Entry { .. }) => Self::EVIDENCE,
            CliError::StateFolder { .. }
            | CliError::NoSuchStore { .. }
            | CliError::NoStateFolder
            | CliError::CannotWrite { .. }
            | CliError::CurrentFolder { .. }
            | CliError::Runtime { .. }
            | CliError::OwnProgram { .. }
            | CliError::Output(_)
            | CliError::Erase(EraseError::Unfinished { .. })
            | CliError::Migrate(
                MigrateError::NoRoom { .. }
                | MigrateError::Copy { .. }
                | MigrateError::Changed { .. },
            )
            | CliError::Randomness { .. }
            | CliError::Panic { .. }
            | CliError::Export(ExportError::Io(_)) => Self::FAILED,
        }
    }
}

impl From<&PullError> for Exit {
    fn from(error: &PullError) -> Self {
        match error {
            PullError::NoRoom { .. } | PullError::Store(ModelStoreError::Io { .. }) => Self::FAILED,
            PullError::Reference { .. } | PullError::Address { .. } | PullError::Store(_) => {
                Self::USAGE
            }
            PullError::NotFound { .. }
            | PullError::Gated { .. }
            | PullError::Status { .. }
            | PullError::Unreachable { .. }
            | PullError::Redirect { .. }
            | PullError::NoLength { .. }
            | PullError::CutOff { .. }
            | PullError::Length { .. }
            | PullError::Sha256 { .. }
            | PullError::Busy { .. } => Self::SETUP,
        }
    }
}

impl From<&DriverError> for Exit {
    fn from(error: &DriverError) -> Self {
        match error {
            DriverError::NoTask
            | DriverError::Workspace { .. }
            | DriverError::ScriptUnreadable { .. }
            | DriverError::Script { .. }
            | DriverError::MissingVariable { .. }
            | DriverError::Placeholder { .. }
            | DriverError::SecretInContract { .. }
            | DriverError::Contract(_)
            | DriverError::Adapter(_)
            | DriverError::Backend { .. }
            | DriverError::RunEnded { .. }
            | DriverError::NothingRecorded { .. }
            | DriverError::UnknownSemantics { .. }
            | DriverError::OtherContract { .. }
            | DriverError::OtherScript { .. }
            | DriverError::NoParent { .. }
            | DriverError::OtherWorkspace { .. }
            | DriverError::CannotAskAgain { .. } => Self::USAGE,
            DriverError::ServerDown { .. } | DriverError::NobodyToAsk { .. } => Self::SETUP,
            DriverError::DoesNotReplay { report, .. } => Self::of_replay(report),
            DriverError::Cancelled
            | DriverError::AskingInterrupted { .. }
            | DriverError::Randomness(_) => Self::FAILED,
            DriverError::Store(fault) => Self::from(fault),
        }
    }
}

impl From<&StoreError> for Exit {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::RunExists { .. }
            | StoreError::Imported { .. }
            | StoreError::Erased { .. }
            | StoreError::NoSuchRun { .. }
            | StoreError::Ambiguous { .. } => Self::USAGE,
            StoreError::Corrupt { .. } => Self::EVIDENCE,
            StoreError::CannotOpen { .. }
            | StoreError::CutOff { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Locked { .. }
            | StoreError::DiskFull { .. }
            | StoreError::NotADatabase { .. }
            | StoreError::Foreign { .. }
            | StoreError::Empty { .. }
            | StoreError::NewerFormat { .. }
            | StoreError::OlderFormat { .. }
            | StoreError::UnknownFormat { .. }
            | StoreError::InUse { .. }
            | StoreError::Io { .. }
            | StoreError::Poisoned { .. }
            | StoreError::Closed
            | StoreError::RunLocked { .. }
            | StoreError::Lock { .. }
            | StoreError::Fenced { .. }
            | StoreError::OutOfOrder { .. }
            | StoreError::BadEntry { .. }
            | StoreError::Statement { .. } => Self::FAILED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(attribution: Attribution) -> ReplayReport {
        let difference = Difference {
            seq: 3,
            state: None,
            step_id: None,
            pointer: "/hash".to_owned(),
            expected: "a".to_owned(),
            actual: "b".to_owned(),
            attribution,
        };
        ReplayReport {
            same: false,
            entries: 4,
            first_difference: Some(difference.clone()),
            differences: vec![difference],
            open: false,
            not_compared: Vec::new(),
        }
    }

    #[test]
    fn a_replay_tells_bad_evidence_from_another_decision() {
        let check = |attribution, expect: u8| {
            assert_eq!(
                Exit::of_replay(&replay(attribution)),
                Exit(expect),
                "{attribution}"
            );
        };
        check(Attribution::Kernel, 6);
        check(Attribution::Adapter, 6);
        check(Attribution::Contract, 6);
        check(Attribution::Model, 6);
        check(Attribution::Tool, 6);
        check(Attribution::Tampered, 7);
        check(Attribution::Truncated, 7);
        check(Attribution::Extended, 7);
        check(Attribution::UnknownVersion, 7);
    }

    #[test]
    fn a_fault_has_the_code_of_whoever_is_to_blame() {
        let check = |error: CliError, expect: u8| {
            assert_eq!(Exit::from(&error), Exit(expect), "{error}");
        };
        check(CliError::Driver(DriverError::NoTask), 4);
        check(CliError::Driver(DriverError::Cancelled), 1);
        let path = std::path::PathBuf::from("runs.db");
        check(StoreError::ReadOnly { path: path.clone() }.into(), 1);
        check(StoreError::NotADatabase { path: path.clone() }.into(), 1);
        let asked = "x".to_owned();
        check(StoreError::NoSuchRun { asked }.into(), 4);
        let reason = "hash".to_owned();
        check(StoreError::Corrupt { path, reason }.into(), 7);
        check(CliError::NoDemoRun, 4);
        let message = "boom".to_owned();
        check(CliError::Panic { message }, 1);
    }
}
