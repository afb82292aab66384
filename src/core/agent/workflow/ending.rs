//! The workflow's own sequence, and what it comes to.

use super::interpreter::{Interpreter, Progress, Scope, StepEnd};
use super::memory::{Phase, Root, Stop};
use crate::contract::{FailureStrategy, WorkflowClass, WorkflowCode, WorkflowOutcome};

impl Interpreter<'_> {
    /// The workflow's own sequence; the outcome, once it is over.
    pub(super) fn root(&mut self, root: &mut Root) -> Option<WorkflowOutcome> {
        if !root.phase.is_rolling_back() {
            let scope = Scope {
                halting: self.memory.stop.is_some(),
                item: None,
                place: "",
            };
            let definition = self.definition;
            match self.sequence(&definition.steps, &mut root.sequence, scope) {
                Progress::Pending => return None,
                Progress::Ended(StepEnd::Completed { .. }) => return Some(self.completed()),
                Progress::Ended(StepEnd::Failed | StepEnd::Halted)
                    if self.memory.stop == Some(Stop::Timeout) =>
                {
                    self.error(String::new(), WorkflowCode::TotalTimeout, false);
                }
                Progress::Ended(StepEnd::Failed) => {}
                Progress::Ended(StepEnd::Halted) => return Some(self.interrupted()),
            }
            if self.definition.on_failure != FailureStrategy::Rollback {
                return Some(self.failed());
            }
            root.phase = Phase::RollingBack(self.plan_rollback(""));
        }
        let Phase::RollingBack(rollback) = &mut root.phase else {
            return None;
        };
        if !self.roll_back(rollback) {
            return None;
        }
        Some(if self.memory.stop == Some(Stop::Now) {
            self.interrupted()
        } else {
            self.failed()
        })
    }

    fn completed(&self) -> WorkflowOutcome {
        let code = if self.memory.errors().is_empty() {
            WorkflowCode::AllSteps
        } else {
            WorkflowCode::WithErrors
        };
        let class = if self.compensation_failed() {
            WorkflowClass::CompensationFailed
        } else {
            WorkflowClass::Completed
        };
        WorkflowOutcome { class, code }
    }

    fn interrupted(&self) -> WorkflowOutcome {
        let code = match self.memory.stop {
            Some(Stop::Now) => WorkflowCode::Abort,
            Some(Stop::Requested | Stop::Timeout) | None => WorkflowCode::Stop,
        };
        let class = if self.compensation_failed() {
            WorkflowClass::CompensationFailed
        } else {
            WorkflowClass::Stopped
        };
        WorkflowOutcome { class, code }
    }

    fn failed(&self) -> WorkflowOutcome {
        let errors = self.memory.errors().iter().rev();
        let cause = errors.clone().find(|error| !error.compensation);
        let code = cause.map_or(WorkflowCode::StepFailed, |error| error.code);
        let class = if self.compensation_failed() {
            WorkflowClass::CompensationFailed
        } else if self.memory.counters.compensated > 0 {
            WorkflowClass::Compensated
        } else {
            WorkflowClass::Failed
        };
        WorkflowOutcome { class, code }
    }

    fn compensation_failed(&self) -> bool {
        self.memory.errors().iter().any(|error| error.compensation)
    }
}
