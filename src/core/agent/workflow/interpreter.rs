//! Walks what is under way, in the order of the definition, and begins what comes next (INV-AGT-003). Knows no entries.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::entry::StepOrder;
use super::event::EndStep;
use super::memory::{
    Active, Binding, CompletedRun, Group, InFlight, Items, Loop, Memory, Outputs, Sequence,
    StepError, Value,
};
use super::step_input::{MAX_INPUT_BYTES, input_of, parts_of};
use super::{BegunStep, StepInput};
use crate::contract::{
    Condition, ForEach, Label, Part, Step, StepId, Template, Work, WorkflowCode, WorkflowDefinition,
};

/// One walk: what it reads, what it changes, what it sets going.
pub(super) struct Interpreter<'w> {
    pub(super) begun: Vec<BegunStep>,
    pub(super) definition: &'w WorkflowDefinition,
    /// The step run that has just ended, and whether it completed.
    pub(super) ended: Option<(u64, Result<(), WorkflowCode>)>,
    pub(super) ending: Vec<(u64, EndStep)>,
    pub(super) input: &'w str,
    pub(super) inputs: &'w mut BTreeMap<u64, StepInput>,
    pub(super) memory: &'w mut Memory,
    /// Failures without a run, with limit and figure, for people.
    pub(super) notes: Vec<String>,
    pub(super) orders: Vec<StepOrder>,
    pub(super) outputs: &'w Outputs,
}

/// The surroundings of a step.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// True if no more steps begin, and the end of those under way was requested.
    pub(super) halting: bool,
    /// The items of the innermost `for_each`, and the index of the one that it is at.
    pub(super) item: Option<(&'a Items, u32)>,
    /// The place of the steps, with a slash at its end; empty outside.
    pub(super) place: &'a str,
}

/// The progress of a step.
pub(super) enum Progress {
    /// It waits for runs.
    Pending,
    /// It is over.
    Ended(StepEnd),
}

/// The end of a step.
pub(super) enum StepEnd {
    /// It completed; `ok` says whether without errors in it.
    Completed { ok: bool, value: Value },
    /// It failed, and why is among the errors.
    Failed,
    /// Its end was requested.
    Halted,
}

impl Interpreter<'_> {
    /// Steps one after the other, as far as they come.
    pub(super) fn sequence(
        &mut self,
        steps: &[Step],
        sequence: &mut Sequence,
        scope: Scope<'_>,
    ) -> Progress {
        loop {
            let Some(step) = steps.get(sequence.at) else {
                return Progress::Ended(StepEnd::Completed {
                    ok: !sequence.with_errors,
                    value: self.memory.last_of(steps, sequence),
                });
            };
            let mut active = match sequence.under_way.take() {
                Some(active) => active,
                None if scope.halting => return Progress::Ended(StepEnd::Halted),
                None if self.memory.suspended => return Progress::Pending,
                None => match self.begin(step, scope) {
                    Some(active) => Box::new(active),
                    None => return Progress::Ended(StepEnd::Failed),
                },
            };
            match self.advance(step, &mut active, scope) {
                Progress::Pending => {
                    sequence.under_way = Some(active);
                    return Progress::Pending;
                }
                Progress::Ended(StepEnd::Completed { ok, .. }) => {
                    sequence.at = sequence.at.saturating_add(1);
                    sequence.with_errors |= !ok;
                }
                over @ Progress::Ended(StepEnd::Failed | StepEnd::Halted) => return over,
            }
        }
    }

    /// Begins a step; `None` if it cannot be begun, and why is among the errors.
    pub(super) fn begin(&mut self, step: &Step, scope: Scope<'_>) -> Option<Active> {
        let place = format!("{}{}", scope.place, step.id);
        match &step.work {
            Work::Prompt(_) | Work::Tool(_) | Work::Delegate(_) => {
                let most = self.definition.max_steps;
                if self.memory.counters.steps >= most {
                    let why = format!("limits.max_steps: {most} of {most} steps were begun");
                    return self.fail(&step.id, place, (WorkflowCode::MaxSteps, why));
                }
                let labels = RefCell::default();
                let fill = |part: &Part| self.part(part, scope, &labels);
                let Some(input) = input_of(&step.work, &fill) else {
                    let why = format!("what it is given has more than {MAX_INPUT_BYTES} bytes");
                    return self.fail(&step.id, place, (WorkflowCode::InputSize, why));
                };
                self.memory.counters.steps = self.memory.counters.steps.saturating_add(1);
                let input = (input, labels.into_inner());
                Some(Active::Run(self.order(&step.id, place, input, None)))
            }
            Work::If(held) => Some(Active::Branch {
                inside: Sequence::default(),
                then: self.holds(&held.condition),
            }),
            Work::ForEach(held) => match self.items(held, scope) {
                None => {
                    let why = "what for_each goes over is no JSON array".to_owned();
                    self.fail(&step.id, place, (WorkflowCode::NotAList, why))
                }
                Some(items) => match u32::try_from(items.texts.len()) {
                    Ok(count) if count <= held.max_iterations => Some(Active::Loop(Loop {
                        count: Some(count),
                        items,
                        ..Loop::default()
                    })),
                    _ => {
                        let (got, most) = (items.texts.len(), held.max_iterations);
                        let why = format!("max_iterations: {got} items, and at most {most}");
                        self.fail(&step.id, place, (WorkflowCode::MaxIterations, why))
                    }
                },
            },
            Work::While(_) => Some(Active::Loop(Loop::default())),
            Work::Parallel(held) => Some(Active::Group(Group::of(&held.steps))),
        }
    }

    /// Advances a step that is under way; once it ends, its result is known.
    pub(super) fn advance(
        &mut self,
        step: &Step,
        active: &mut Active,
        scope: Scope<'_>,
    ) -> Progress {
        let progress = match (&step.work, active) {
            (_, Active::Run(number)) => self.run(step, *number, scope),
            (Work::If(held), Active::Branch { inside, then }) => {
                let steps = if *then { &held.then } else { &held.otherwise };
                let place = format!("{}{}/", scope.place, step.id);
                let inner = Scope {
                    place: &place,
                    ..scope
                };
                self.sequence(steps, inside, inner)
            }
            (Work::ForEach(held), Active::Loop(at)) => {
                self.iterate(step, &held.steps, at, scope, Some(held))
            }
            (Work::While(held), Active::Loop(at)) => {
                self.iterate(step, &held.steps, at, scope, None)
            }
            (Work::Parallel(held), Active::Group(group)) => self.group(step, held, group, scope),
            // What is under way was made from the definition.
            _ => Progress::Ended(StepEnd::Halted),
        };
        let binding = match &progress {
            Progress::Ended(StepEnd::Completed { ok, value }) => Some((*ok, value.clone())),
            Progress::Ended(StepEnd::Failed) => Some((false, self.value_of_failed(step))),
            Progress::Pending | Progress::Ended(StepEnd::Halted) => None,
        };
        if let Some((ok, value)) = binding {
            self.memory.bind(&step.id, Binding { ok, value });
        }
        progress
    }

    /// A run that failed may have said something all the same.
    fn value_of_failed(&self, step: &Step) -> Value {
        match self.ended {
            Some((number, _)) if step.work.is_run() => Value::Run(number),
            _ => Value::Empty,
        }
    }

    fn run(&mut self, step: &Step, number: u64, scope: Scope<'_>) -> Progress {
        if self.memory.in_flight.contains_key(&number) {
            return Progress::Pending;
        }
        let place = format!("{}{}", scope.place, step.id);
        let result = match self.ended {
            Some((ended, result)) if ended == number => result,
            // What is not under way any more has ended in this step.
            _ => Err(WorkflowCode::StepFailed),
        };
        match result {
            Ok(()) => {
                self.complete(step, number, place);
                let value = Value::Run(number);
                Progress::Ended(StepEnd::Completed { ok: true, value })
            }
            Err(_) if scope.halting => Progress::Ended(StepEnd::Halted),
            Err(code) => {
                self.error(place, code, false);
                Progress::Ended(StepEnd::Failed)
            }
        }
    }

    /// Notes that a step run completed, with what its compensation will be given.
    fn complete(&mut self, step: &Step, number: u64, place: String) {
        let own = Binding {
            ok: true,
            value: Value::Run(number),
        };
        self.memory.bind(&step.id, own);
        let compensation = step.compensate.as_ref();
        let compensation = compensation.and_then(|id| self.definition.compensation(id));
        let mut captured = BTreeMap::new();
        for part in compensation.into_iter().flat_map(|c| parts_of(&c.work)) {
            if let Part::Output(id) = part
                && let Some(binding) = self.memory.binding(&id)
            {
                captured.insert(id, binding.clone());
            }
        }
        self.memory.last_completed = Some(step.id.clone());
        self.memory.complete(CompletedRun {
            compensate: compensation.map(|compensation| compensation.id.clone()),
            compensated: None,
            captured,
            number,
            place,
        });
    }

    /// Orders a step run with that input and its labels; returns its number.
    pub(super) fn order(
        &mut self,
        step: &StepId,
        place: String,
        (input, labels): (StepInput, BTreeSet<Label>),
        compensates: Option<u64>,
    ) -> u64 {
        self.memory.numbers = self.memory.numbers.saturating_add(1);
        let number = self.memory.numbers;
        let input_hash = input.hash();
        self.memory.in_flight.insert(
            number,
            InFlight {
                compensates,
                ending: None,
                input_hash,
                labels: labels.clone(),
                place: place.clone(),
                step: step.clone(),
            },
        );
        self.inputs.insert(number, input.clone());
        self.begun.push(BegunStep {
            compensates,
            input_hash,
            labels: labels.clone(),
            number,
            place: place.clone(),
            step: step.clone(),
        });
        self.orders.push(StepOrder {
            compensates,
            input,
            labels,
            number,
            place,
            step: step.clone(),
        });
        number
    }

    /// Requests the immediate end of the steps under way at that place, once each; compensations continue.
    pub(super) fn end_all(&mut self, place: &str) {
        for (number, run) in &mut self.memory.in_flight {
            if run.place.starts_with(place) && run.compensates.is_none() {
                self.ending.extend(run.ends(*number, EndStep::Now));
            }
        }
    }

    pub(super) fn error(&mut self, place: String, code: WorkflowCode, compensation: bool) {
        self.memory.fail(StepError {
            code,
            compensation,
            place,
        });
    }

    fn fail<T>(
        &mut self,
        step: &StepId,
        place: String,
        (code, why): (WorkflowCode, String),
    ) -> Option<T> {
        let binding = Binding {
            ok: false,
            value: Value::Empty,
        };
        self.memory.bind(step, binding);
        self.notes.push(format!("{place} failed: {why}"));
        self.error(place, code, false);
        None
    }

    pub(super) fn holds(&self, condition: &Condition) -> bool {
        let binding = self.memory.binding(&condition.step);
        let output = binding.map(|binding| binding.value.text(self.outputs));
        let ok = binding.is_some_and(|binding| binding.ok);
        condition.test.holds(ok, &output.unwrap_or_default())
    }
}

impl Interpreter<'_> {
    /// The items of a list, as they stand in steps: a text as itself, anything else as it was written, for a number may have more digits
    /// than are calculated with. `None` if it is no list.
    pub(super) fn items(&self, held: &ForEach, scope: Scope<'_>) -> Option<Arc<Items>> {
        let template = Template::parse(&held.items).ok()?;
        let labels = RefCell::default();
        let text = template.filled(MAX_INPUT_BYTES, &|part| self.part(part, scope, &labels))?;
        let items: Vec<&RawValue> = serde_json::from_str(text.trim()).ok()?;
        let shown = |item: &RawValue| {
            let text = serde_json::from_str::<String>(item.get());
            text.unwrap_or_else(|_| item.get().to_owned())
        };
        let texts = items.into_iter().map(shown).collect();
        let labels = labels.into_inner();
        Some(Arc::new(Items { labels, texts }))
    }

    /// The text that replaces a placeholder; its labels are added to `labels`.
    pub(super) fn part(
        &self,
        part: &Part,
        scope: Scope<'_>,
        labels: &RefCell<BTreeSet<Label>>,
    ) -> String {
        match part {
            Part::Text(text) => text.clone(),
            Part::Input => self.input.to_owned(),
            Part::Index => scope.item.map_or_else(String::new, |(_, n)| n.to_string()),
            Part::Item => scope.item.map_or_else(String::new, |(items, n)| {
                labels.borrow_mut().extend(&items.labels);
                let item = usize::try_from(n).ok().and_then(|n| items.texts.get(n));
                item.cloned().unwrap_or_default()
            }),
            Part::Output(id) => self.memory.binding(id).map_or_else(String::new, |binding| {
                labels
                    .borrow_mut()
                    .extend(binding.value.labels(self.outputs));
                binding.value.text(self.outputs)
            }),
            Part::Compensated => String::new(),
        }
    }
}
