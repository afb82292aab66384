//! The end of a driven run: its result and its view, or the fault that broke it off. Prints nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::contract_file::ContractFile;
use crate::drive::lost_calls::LostCalls;
use crate::error::ServiceError;
use crate::service::Service;
use crate::text::escape::line;
use crate::text::numbers::counted;
use crate::view::departure::agreeing;
use crate::waiting_call::WaitingCall;
use monolith_core::contract::ValueOrigin;
use monolith_core::kernel::{AgentOutcome, ClosingReason, Counters, Run};
use monolith_core::view::RunView;
use monolith_host::driver::DriverError;
use monolith_host::telemetry::{AgentResult, AwaitedApproval, ExitTag, unseen_results};

/// A run that has ended, or was suspended.
#[derive(Debug)]
pub struct Ended {
    /// Document for the caller.
    pub result: AgentResult,
    /// The places in the contract file that kept the run from its first request.
    pub places: Vec<String>,
    /// True if it has no end, and the next resume ends it.
    pub is_spent: bool,
    /// The calls of a suspended run whose result is lost, and which are not made again.
    pub lost_calls: LostCalls,
    /// The folder of its snapshots; `None` if none are kept, or its contract was not read.
    pub sessions_dir: Option<PathBuf>,
    /// True if the answer is on the screen already.
    pub shown: bool,
    /// True if it was asked to stop while it was driven.
    pub stopped: bool,
    /// The run as far as it came.
    pub view: Box<RunView>,
}

impl Ended {
    /// A run that is recorded to its end.
    pub fn of(run: &Run, view: RunView) -> Self {
        Self {
            result: AgentResult::of_run(run, &view),
            is_spent: false,
            lost_calls: LostCalls::default(),
            places: Vec::new(),
            sessions_dir: None,
            shown: false,
            stopped: false,
            view: Box::new(view),
        }
    }

    /// Returns the end of a run that another process can resume; `run` is set if the machine still exists.
    pub fn suspended(run: Option<&Run>, view: RunView) -> Self {
        let machine = run.or_else(|| view.machine());
        let lost_calls = machine.map(|run| LostCalls::of(&view, run, false));
        Self {
            is_spent: machine.is_some_and(Run::ends_if_resumed),
            lost_calls: lost_calls.unwrap_or_default(),
            result: AgentResult::suspended(run, &view),
            places: Vec::new(),
            sessions_dir: None,
            shown: false,
            stopped: false,
            view: Box::new(view),
        }
    }

    /// A recorded run that this process leaves as it is.
    pub fn left(view: RunView) -> Self {
        Self::suspended(None, view)
    }

    /// With the first call that waits below it, and how many more do, where the run is left and waits for none itself.
    pub fn naming_call_below(mut self, service: &Service) -> Result<Self, ServiceError> {
        let result = &mut self.result;
        if let Some(run_id) = &result.run_id
            && !self.view.contract().agents.is_empty()
            && result.is_suspended()
            && result.waits_for.is_none()
        {
            let mut waiting = WaitingCall::answerable_below(service, run_id)?.into_iter();
            let first = waiting.next();
            let more = u64::try_from(waiting.count()).unwrap_or(u64::MAX);
            if first.is_some() {
                result.exit_tag = ExitTag::ApprovalRequired;
            }
            result.waits_for = first.map(|(run_id, call)| AwaitedApproval {
                arguments_hash: call.order.arguments_hash,
                call: call.order.call,
                name: call.order.invocation.name,
                run_id: Some(run_id),
                more,
            });
        }
        Ok(self)
    }

    /// The same with the places of the contract file that failed checks are about.
    #[must_use]
    pub fn located(self, file: &ContractFile, origins: &BTreeMap<String, ValueOrigin>) -> Self {
        let outcome = self.view.outcome().map(|outcome| outcome.class);
        if outcome != Some(AgentOutcome::FailedPreflight) {
            return self;
        }
        let checks = self.view.preflight().checks.iter();
        let failed = checks.filter(|check| !check.ok).map(|check| check.name);
        let places = file.places_of(self.view.contract(), failed, origins);
        Self { places, ..self }
    }

    /// The run, unless what would be reported of it is not the machine's state: that is no result.
    pub fn agreeing(self) -> Result<Self, Broken> {
        let asked = self.view.run_id().map(ToString::to_string);
        agreeing(&asked.unwrap_or_default(), &self.view)?;
        Ok(self)
    }

    /// Returns what to mention although the run succeeded: the result of a stop, how many of the executed calls reported an
    /// error, which results the model did not see, and the flaws of its report.
    pub fn flaw(&self) -> Option<String> {
        let stopped = self.stopped.then(|| match self.view.closing() {
            Some(ClosingReason::Stop) => "stopped: the model was asked to answer without tools",
            _ => "the run had come to its end before it could be stopped",
        });
        let failed = failed_calls(self.view.counters());
        let unseen = unseen_results(&self.view).map(|unseen| line(&unseen));
        let flaws = stopped.map(str::to_owned).into_iter();
        let report = self.result.final_report.iter();
        let of_report = report.flat_map(|report| report.warnings.iter().map(|flaw| line(flaw)));
        let flaws = flaws.chain(failed).chain(unseen).chain(of_report);
        let flaws = flaws.collect::<Vec<_>>().join("; ");
        (!flaws.is_empty()).then_some(flaws)
    }
}

/// A run that could not be brought to its end, and its result.
#[derive(Debug)]
pub struct Broken {
    /// Reason.
    pub error: ServiceError,
    /// Document for the caller, if the run has entries.
    pub result: Option<Box<AgentResult>>,
}

impl Broken {
    /// The same with the line of the contract file, if it is about a value of that.
    #[must_use]
    pub fn located(self, file: &ContractFile) -> Self {
        self.placed(|fault| file.located(fault))
    }

    /// The same of a run that is resumed with these changes; `once_ended` is the command that takes them once it has ended.
    #[must_use]
    pub fn located_as_resumed(
        self,
        file: &ContractFile,
        changes: &[String],
        once_ended: impl Fn(&str) -> String,
    ) -> Self {
        self.placed(|fault| file.located_as_resumed(fault, changes, once_ended))
    }

    /// The same of a run that continues another one; `way_on` is what the caller may do where the file has changed since.
    #[must_use]
    pub fn located_as_changed(self, file: &ContractFile, cwd: &Path, way_on: &str) -> Self {
        self.placed(|fault| file.located_as_changed(fault, cwd, way_on))
    }

    fn placed(self, place: impl FnOnce(DriverError) -> ServiceError) -> Self {
        let error = match self.error {
            ServiceError::Driver(fault) => place(fault),
            error => error,
        };
        Self { error, ..self }
    }
}

impl<E: Into<ServiceError>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            result: None,
        }
    }
}

/// Counts the executed calls that reported an error; `None` if none did.
fn failed_calls(used: Counters) -> Option<String> {
    let failed = used.executed.saturating_sub(used.executed_ok);
    let executed = used.executed;
    (failed > 0).then(|| {
        format!(
            "{failed} of {} reported an error",
            counted(executed, "call")
        )
    })
}
