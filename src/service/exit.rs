//! The exit code of each error (semantics §3). A run's own outcome brings its code along
//! ([`Outcome::exit_code`](monolith_core::kernel::Outcome::exit_code)), and an error that is no outcome states its code
//! ([`Advice`](crate::error::advice::Advice)); here are the codes of reports.

use std::process::ExitCode;

use monolith_core::replay::{Attribution, Difference, LiveReport, ReplayReport, WhatIfReport};
use monolith_core::transcript::VerifyReport;

/// The code that the process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    /// All is well.
    pub const OK: Self = Self(0);
    /// The operator's, the system's or monolith's own fault.
    pub const FAILED: Self = Self(1);
    /// A tool server or a model is not there.
    pub const SETUP: Self = Self(3);
    /// Bad arguments or configuration.
    pub const USAGE: Self = Self(4);
    /// A replay decided otherwise than was recorded.
    pub const DIVERGED: Self = Self(6);
    /// A transcript is corrupt, tampered with or incomplete.
    pub const EVIDENCE: Self = Self(7);

    /// Returns the code of a verification.
    pub const fn of_verify(report: &VerifyReport) -> Self {
        if report.holds() {
            Self::OK
        } else {
            Self::EVIDENCE
        }
    }

    /// Returns the code of a live comparison.
    pub fn of_live(report: &LiveReport) -> Self {
        Self::of_difference(report.same, report.first_difference.as_ref())
    }

    /// Returns the code of a replay under another contract.
    pub const fn of_what_if(report: &WhatIfReport) -> Self {
        if report.same_outcome {
            Self::OK
        } else {
            Self::DIVERGED
        }
    }

    /// Returns the code of a replay: if the evidence itself is bad, that decides.
    pub fn of_replay(report: &ReplayReport) -> Self {
        Self::of_difference(report.same, report.first_difference.as_ref())
    }

    /// A run was left and can be resumed.
    pub const SUSPENDED: Self = Self(8);
    /// The answer could not be written to the standard output.
    pub const UNWRITTEN: Self = Self(9);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ServiceError;
    use crate::error::state::StateFault;
    use crate::error::system::SystemFault;
    use monolith_host::driver::DriverError;
    use monolith_host::store::StoreError;

    fn replay(attribution: Attribution) -> ReplayReport {
        let difference = Difference {
            seq: 3,
            is_outside: false,
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
        let check = |error: ServiceError, expect: u8| {
            assert_eq!(Exit::from(&error), Exit(expect), "{error}");
        };
        check(ServiceError::Driver(DriverError::NoTask), 4);
        check(ServiceError::Driver(DriverError::Cancelled), 1);
        let path = std::path::PathBuf::from("runs.db");
        check(StoreError::ReadOnly { path: path.clone() }.into(), 1);
        check(StoreError::NotADatabase { path: path.clone() }.into(), 1);
        let asked = "x".to_owned();
        check(StoreError::NoSuchRun { asked }.into(), 4);
        let reason = "hash".to_owned();
        check(StoreError::Corrupt { path, reason }.into(), 7);
        check(StateFault::NoDemoRun.into(), 4);
        let message = "boom".to_owned();
        check(SystemFault::Panic { message }.into(), 1);
    }
}
