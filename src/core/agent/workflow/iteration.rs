//! The iterations of a loop: whether there is a next one, and what all of them came to.

use std::sync::Arc;

use super::interpreter::{Interpreter, Progress, Scope, StepEnd};
use super::memory::{Loop, Sequence, Value};
use crate::contract::{ForEach, Step, Work, WorkflowCode};

/// The most iterations of all loops of a workflow together.
const MOST_ITERATIONS: u64 = 10_000;

impl Interpreter<'_> {
    /// Advances a loop, one iteration after the other.
    pub(super) fn iterate(
        &mut self,
        step: &Step,
        steps: &[Step],
        at: &mut Loop,
        scope: Scope<'_>,
        held: Option<&ForEach>,
    ) -> Progress {
        let loop_place = format!("{}{}", scope.place, step.id);
        let items = Arc::clone(&at.items);
        loop {
            if !at.open {
                if scope.halting {
                    self.memory.take_iterations(&loop_place);
                    return Progress::Ended(StepEnd::Halted);
                }
                if self.memory.suspended {
                    return Progress::Pending;
                }
                match self.has_next_iteration(step, at) {
                    Ok(true) => {}
                    Ok(false) => {
                        let value = Value::List(self.memory.take_iterations(&loop_place));
                        let ok = !at.with_errors;
                        return Progress::Ended(StepEnd::Completed { ok, value });
                    }
                    Err(why) => {
                        self.memory.take_iterations(&loop_place);
                        self.notes.push(format!("{loop_place} failed: {why}"));
                        self.error(loop_place, WorkflowCode::MaxIterations, false);
                        return Progress::Ended(StepEnd::Failed);
                    }
                }
                for inside in steps.iter().flat_map(Step::all) {
                    self.memory.unbind(&inside.id);
                }
                at.inside = Sequence::default();
                at.iteration = at.iteration.saturating_add(1);
                at.open = true;
                let counters = &mut self.memory.counters;
                counters.iterations = counters.iterations.saturating_add(1);
            }
            let place = format!("{loop_place}.{}/", at.iteration);
            let index = at.iteration.saturating_sub(1);
            let inner = Scope {
                item: match held {
                    Some(_) => Some((&items, index)),
                    None => scope.item,
                },
                place: &place,
                ..scope
            };
            match self.sequence(steps, &mut at.inside, inner) {
                Progress::Ended(StepEnd::Completed { ok, value }) => {
                    at.with_errors |= !ok;
                    self.memory.iterated(&loop_place, value);
                    at.open = false;
                }
                Progress::Pending => return Progress::Pending,
                over @ Progress::Ended(_) => {
                    self.memory.take_iterations(&loop_place);
                    return over;
                }
            }
        }
    }

    /// Returns whether one more iteration begins, or why no more may begin.
    fn has_next_iteration(&self, step: &Step, at: &Loop) -> Result<bool, String> {
        let more = match (&step.work, at.count) {
            (_, Some(count)) => at.iteration < count,
            (Work::While(held), None) => {
                let holds = self.holds(&held.condition);
                let most = held.max_iterations;
                if holds && at.iteration >= most {
                    return Err(format!(
                        "max_iterations: the condition holds after {most} of {most} iterations"
                    ));
                }
                holds
            }
            _ => false,
        };
        if more && self.memory.counters.iterations >= MOST_ITERATIONS {
            return Err(format!(
                "{MOST_ITERATIONS} iterations of all loops, and a workflow has no more"
            ));
        }
        Ok(more)
    }
}
