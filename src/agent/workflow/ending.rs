//! The workflow's own sequence, and what it comes to.

use super::books::{Phase, Root, Stop};
use super::walk::{Around, End, Flow, Walker};
use crate::contract::{FailureStrategy, WorkflowClass, WorkflowCode, WorkflowOutcome};

impl Walker<'_> {
    /// The workflow's own sequence; the outcome, once it is over.
    pub(super) fn root(&mut self, root: &mut Root) -> Option<WorkflowOutcome> {
        if !root.phase.is_back() {
            let around = Around {
                halting: self.books.stop.is_some(),
                item: None,
                place: "",
            };
            let definition = self.definition;
            match self.sequence(&definition.steps, &mut root.sequence, around) {
                Flow::Pending => return None,
                Flow::Ended(End::Completed { .. }) => return Some(self.completed()),
                Flow::Ended(End::Failed) => {}
                Flow::Ended(End::Halted) if self.books.stop == Some(Stop::Timeout) => {
                    self.error(String::new(), WorkflowCode::TotalTimeout, false);
                }
                Flow::Ended(End::Halted) => return Some(self.interrupted()),
            }
            if self.definition.on_failure != FailureStrategy::Rollback {
                return Some(self.failed());
            }
            root.phase = Phase::Back(self.undone_below(""));
        }
        let Phase::Back(rollback) = &mut root.phase else {
            return None;
        };
        if !self.roll_back(rollback) {
            return None;
        }
        Some(if self.books.stop == Some(Stop::Now) {
            self.interrupted()
        } else {
            self.failed()
        })
    }

    fn completed(&self) -> WorkflowOutcome {
        let code = if self.books.errors().is_empty() {
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
        let code = match self.books.stop {
            Some(Stop::Now) => WorkflowCode::Abort,
            Some(Stop::Asked | Stop::Timeout) | None => WorkflowCode::Stop,
        };
        let class = if self.compensation_failed() {
            WorkflowClass::CompensationFailed
        } else {
            WorkflowClass::Stopped
        };
        WorkflowOutcome { class, code }
    }

    fn failed(&self) -> WorkflowOutcome {
        let errors = self.books.errors().iter().rev();
        let cause = errors.clone().find(|error| !error.compensation);
        let code = cause.map_or(WorkflowCode::StepFailed, |error| error.code);
        let class = if self.compensation_failed() {
            WorkflowClass::CompensationFailed
        } else if self.books.counters.compensated > 0 {
            WorkflowClass::Compensated
        } else {
            WorkflowClass::Failed
        };
        WorkflowOutcome { class, code }
    }

    fn compensation_failed(&self) -> bool {
        self.books.errors().iter().any(|error| error.compensation)
    }
}
