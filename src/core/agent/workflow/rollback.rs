//! Compensation: what has completed is undone, one run after the other, the last one first (INV-PE-003).

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::StepInput;
use super::interpreter::Interpreter;
use super::memory::{Binding, Rollback, Stop, Value};
use super::step_input::input_of;
use crate::contract::{Label, Part, StepId, WorkflowCode};

/// A compensating step, its place, and its input with the labels of that.
type Compensation = (StepId, String, (StepInput, BTreeSet<Label>));

impl Interpreter<'_> {
    /// Plans to undo the runs that completed below a place and have a compensation that was not tried yet.
    pub(super) fn plan_rollback(&self, place: &str) -> Rollback {
        let completed = self.memory.completed().iter();
        let waiting = completed
            .filter(|run| run.compensate.is_some() && run.compensated.is_none())
            .filter(|run| run.place.starts_with(place))
            .map(|run| run.number)
            .collect();
        Rollback {
            current: None,
            waiting,
        }
    }

    /// Advances a rollback; true once there is nothing more to undo. If a compensation fails, the others are still tried.
    pub(super) fn roll_back(&mut self, rollback: &mut Rollback) -> bool {
        loop {
            if let Some((run, of)) = rollback.current {
                if self.memory.in_flight.contains_key(&run) {
                    return false;
                }
                let result = match self.ended {
                    Some((ended, result)) if ended == run => result,
                    _ => Err(WorkflowCode::StepFailed),
                };
                self.note_compensation(of, result);
                rollback.current = None;
            }
            if self.memory.stop == Some(Stop::Now) {
                return true;
            }
            if self.memory.suspended && !rollback.waiting.is_empty() {
                return false;
            }
            let Some(of) = rollback.waiting.pop() else {
                return true;
            };
            match self.begin_compensation(of) {
                Ok(run) => rollback.current = Some((run, of)),
                Err(code) => self.note_compensation(of, Err(code)),
            }
        }
    }

    fn begin_compensation(&mut self, of: u64) -> Result<u64, WorkflowCode> {
        let (step, place, input) = self.compensation(of)?;
        Ok(self.order(&step, place, input, Some(of)))
    }

    /// Returns the step that compensates a run, its place, and its input with the labels of that.
    pub(super) fn compensation(&self, of: u64) -> Result<Compensation, WorkflowCode> {
        let mut completed = self.memory.completed().iter();
        let completed = completed.find(|run| run.number == of);
        let completed = completed.ok_or(WorkflowCode::StepNotBegun)?;
        let id = completed.compensate.as_ref();
        let compensation = id.and_then(|id| self.definition.compensation(id));
        let compensation = compensation.ok_or(WorkflowCode::StepNotBegun)?;
        let labels = RefCell::<BTreeSet<Label>>::default();
        let output = |value: &Value| {
            labels.borrow_mut().extend(value.labels(self.outputs));
            value.text(self.outputs)
        };
        let known = |id: &StepId| {
            completed
                .captured
                .get(id)
                .map(|Binding { value, .. }| value)
        };
        let fill = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Input => self.input.to_owned(),
            Part::Compensated => output(&Value::Run(of)),
            Part::Output(id) => known(id).map_or_else(String::new, output),
            Part::Item | Part::Index => String::new(),
        };
        let input = input_of(&compensation.work, &fill).ok_or(WorkflowCode::InputSize)?;
        let place = format!("{}/{}", completed.place, compensation.id);
        let input = (input, labels.into_inner());
        Ok((compensation.id.clone(), place, input))
    }

    fn note_compensation(&mut self, of: u64, result: Result<(), WorkflowCode>) {
        let place = self.memory.compensate(of, result.is_ok());
        match result {
            Ok(()) => {
                let counters = &mut self.memory.counters;
                counters.compensated = counters.compensated.saturating_add(1);
            }
            Err(code) => self.error(place.unwrap_or_default(), code, true),
        }
    }
}
