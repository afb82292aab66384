//! The machine: takes an event, walks what is under way, and returns the entries and the effects.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::draft::{EndedStep, EntryParts, note};
use super::entry::{StepOrder, WorkflowEffect};
use super::event::{EndStep, StepFailure, StepResult};
use super::interpreter::Interpreter;
use super::memory::{Memory, OutputPlace, Outputs, Stop};
use super::{
    BegunStep, StepInput, WorkflowEntryKind, WorkflowEvent, WorkflowEventKind, WorkflowStarted,
    WorkflowState,
};
use crate::contract::{Label, WorkflowCode, WorkflowDefinition, WorkflowOutcome};
use crate::message::Digest;

/// The most bytes that a step may come to.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// The most bytes that all steps of a workflow may come to together.
const MAX_OUTPUTS_BYTES: u64 = 64 << 20;
/// The most bytes that say why a step has failed, or could not begin.
pub const MAX_REASON_BYTES: usize = 2_048;

/// A workflow, from its start to its end.
///
/// `step` never fails: an event that has no meaning is written down as ignored. After the end nothing is written.
#[derive(Clone, Debug)]
pub struct Workflow {
    pub(super) at_ms: u64,
    pub(super) definition: Arc<WorkflowDefinition>,
    pub(super) entries: u64,
    /// The inputs of the runs under way.
    pub(super) inputs: BTreeMap<u64, StepInput>,
    pub(super) memory: Memory,
    pub(super) outcome: Option<WorkflowOutcome>,
    pub(super) outputs: Outputs,
    pub(super) started: WorkflowStarted,
    pub(super) started_digest: Digest,
}

impl Workflow {
    /// Begins a workflow.
    #[must_use]
    pub fn start(
        definition: Arc<WorkflowDefinition>,
        started: WorkflowStarted,
    ) -> (Self, Vec<WorkflowEffect>) {
        let event = WorkflowEvent {
            at_ms: 0,
            event: WorkflowEventKind::Started(Box::new(started.clone())),
        };
        let mut workflow = Self {
            at_ms: 0,
            definition,
            entries: 0,
            inputs: BTreeMap::new(),
            memory: Memory::default(),
            outcome: None,
            outputs: Outputs::default(),
            started_digest: started.digest(),
            started,
        };
        let begins = (WorkflowEntryKind::Start, WorkflowState::Running);
        let effects = workflow.apply(event, begins, None, Vec::new());
        (workflow, effects)
    }

    /// Takes an event. Empty once the workflow has ended.
    pub fn step(&mut self, event: WorkflowEvent) -> Vec<WorkflowEffect> {
        if self.outcome.is_some() {
            return Vec::new();
        }
        let from = self.state();
        self.at_ms = self.at_ms.max(event.at_ms);
        let mut ending = Vec::new();
        let mut ended = None;
        let kind = match &event.event {
            // There is one start.
            WorkflowEventKind::Started(_) => WorkflowEntryKind::Ignored,
            WorkflowEventKind::StepEnded { number, result } => {
                ended = self.take_result(*number, result);
                match ended {
                    Some(_) => WorkflowEntryKind::Transition,
                    None => WorkflowEntryKind::Ignored,
                }
            }
            WorkflowEventKind::TimerFired => match self.next_deadline() {
                Some(due_ms) if event.at_ms >= due_ms => {
                    ending = self.stop(Stop::Timeout);
                    WorkflowEntryKind::Transition
                }
                _ => WorkflowEntryKind::Ignored,
            },
            WorkflowEventKind::StopRequested
                if self.memory.stop.is_some_and(|s| s >= Stop::Requested) =>
            {
                ending = self.stop(Stop::Now);
                WorkflowEntryKind::Transition
            }
            WorkflowEventKind::StopRequested => {
                ending = self.stop(Stop::Requested);
                WorkflowEntryKind::Transition
            }
            WorkflowEventKind::Interrupted => {
                ending = self.stop(Stop::Now);
                WorkflowEntryKind::Transition
            }
            WorkflowEventKind::Suspended => {
                self.memory.suspended = true;
                WorkflowEntryKind::Noted
            }
            WorkflowEventKind::Resumed => {
                self.memory.suspended = false;
                self.memory.counters.resumes = self.memory.counters.resumes.saturating_add(1);
                WorkflowEntryKind::Transition
            }
        };
        if kind == WorkflowEntryKind::Ignored {
            let draft = self.draft(Some(event), kind, from, EntryParts::default());
            return vec![WorkflowEffect::Append(vec![draft])];
        }
        self.apply(event, (kind, from), ended.as_ref(), ending)
    }

    /// Returns the input of the step run of that number, while it is under way.
    #[must_use]
    pub fn input(&self, number: u64) -> Option<&StepInput> {
        self.inputs.get(&number)
    }

    /// When the workflow wants to be woken, in milliseconds since it began; `None` if nothing is timed.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let timed = self.state() == WorkflowState::Running && !self.memory.suspended;
        timed.then_some(self.definition.total_timeout_ms)
    }

    /// Returns its state.
    #[must_use]
    pub(crate) fn state(&self) -> WorkflowState {
        if self.outcome.is_some() {
            WorkflowState::Terminate
        } else if self.memory.root.phase.is_rolling_back() {
            WorkflowState::Compensating
        } else if self.memory.stop.is_some() {
            WorkflowState::Stopping
        } else {
            WorkflowState::Running
        }
    }

    /// Returns its outcome; none before.
    #[must_use]
    pub const fn outcome(&self) -> Option<WorkflowOutcome> {
        self.outcome
    }

    /// Returns its start data.
    #[must_use]
    pub const fn started(&self) -> &WorkflowStarted {
        &self.started
    }

    /// Returns its driving time.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.at_ms
    }

    /// The number of the step that was begun last; 0 before the first.
    #[must_use]
    pub const fn last_number(&self) -> u64 {
        self.memory.numbers
    }

    /// Returns the number of step runs under way.
    #[cfg(test)]
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.memory.in_flight.len()
    }

    /// Returns the last step's output, in the order of the definition.
    #[must_use]
    pub fn output(&self) -> String {
        let (steps, sequence) = (&self.definition.steps, &self.memory.root.sequence);
        self.memory.last_of(steps, sequence).text(&self.outputs)
    }

    /// True if two machines have equal states, so that they react alike.
    #[cfg(test)]
    pub(super) fn stands_as(&self, other: &Self) -> bool {
        (&self.memory, &self.inputs, &self.outputs)
            == (&other.memory, &other.inputs, &other.outputs)
            && (self.at_ms, self.entries, self.outcome)
                == (other.at_ms, other.entries, other.outcome)
            && self.started == other.started
    }

    /// All that decides what comes next, as text: equal texts react equally.
    #[cfg(test)]
    pub(super) fn decision_key(&self) -> String {
        let outputs = self.outputs.digest();
        format!(
            "{:?} {outputs} {:?}",
            self.outcome,
            self.memory.without_history()
        )
    }

    /// Takes what a step run came to; `None` if no such run is under way.
    fn take_result(&mut self, number: u64, result: &StepResult) -> Option<EndedStep> {
        let run = self.memory.in_flight.remove(&number)?;
        self.inputs.remove(&number);
        let result = match result {
            StepResult::NotBegun(_) => Err(WorkflowCode::StepNotBegun),
            StepResult::Run(run) if !self.fits(&run.output) => Err(WorkflowCode::OutputSize),
            StepResult::Run(run) => {
                let place = OutputPlace {
                    entry: self.entries,
                    labels: Label::stated(run.labels.as_ref()),
                    number,
                };
                self.outputs.keep(place, &run.output);
                match run.failure {
                    None => Ok(()),
                    Some(StepFailure::Outcome) => Err(WorkflowCode::StepFailed),
                    Some(StepFailure::Tool) => Err(WorkflowCode::ToolError),
                    Some(StepFailure::OutputSize) => Err(WorkflowCode::OutputSize),
                }
            }
        };
        if run.compensates.is_none() {
            let counters = &mut self.memory.counters;
            let of = match result {
                Ok(()) => &mut counters.completed,
                Err(_) => &mut counters.failed,
            };
            *of = of.saturating_add(1);
        }
        Some(EndedStep {
            number,
            place: run.place,
            result,
        })
    }

    fn fits(&self, output: &str) -> bool {
        let length = u64::try_from(output.len()).unwrap_or(u64::MAX);
        output.len() <= MAX_OUTPUT_BYTES
            && self.outputs.bytes().saturating_add(length) <= MAX_OUTPUTS_BYTES
    }

    /// Notes that no more steps begin. Returns the ends that are requested of step runs under way. A rollback continues until
    /// an immediate end is requested.
    fn stop(&mut self, why: Stop) -> Vec<(u64, EndStep)> {
        self.memory.stop = self.memory.stop.max(Some(why));
        let how = match why {
            Stop::Requested => EndStep::Stop,
            Stop::Timeout | Stop::Now => EndStep::Now,
        };
        let all = self.memory.in_flight.iter_mut();
        let meant = all.filter(|(_, run)| why == Stop::Now || run.compensates.is_none());
        let requests = meant.filter_map(|(number, run)| run.ends(*number, how));
        requests.collect()
    }

    /// Walks what is under way, and writes down what came of it.
    fn apply(
        &mut self,
        event: WorkflowEvent,
        (kind, from): (WorkflowEntryKind, WorkflowState),
        ended: Option<&EndedStep>,
        mut ending: Vec<(u64, EndStep)>,
    ) -> Vec<WorkflowEffect> {
        let completed = self.memory.completed().len();
        let failed = self.memory.errors().len();
        let resumed = matches!(event.event, WorkflowEventKind::Resumed);
        let mut parts = EntryParts::default();
        let mut orders = Vec::new();
        if resumed {
            (parts.begun, orders) = self.reissue();
            // The process that was asked to end them is gone: the next one is asked again.
            let asked = self.memory.in_flight.iter();
            ending.extend(asked.filter_map(|(number, run)| Some((*number, run.ending?))));
        }
        let definition = Arc::clone(&self.definition);
        let mut root = std::mem::take(&mut self.memory.root);
        let mut interpreter = Interpreter {
            begun: Vec::new(),
            definition: &definition,
            ended: ended.map(|ended| (ended.number, ended.result)),
            ending,
            input: &self.started.input,
            inputs: &mut self.inputs,
            memory: &mut self.memory,
            notes: Vec::new(),
            orders: Vec::new(),
            outputs: &self.outputs,
        };
        let end = interpreter.root(&mut root);
        parts.notes.append(&mut interpreter.notes);
        parts.begun.append(&mut interpreter.begun);
        orders.append(&mut interpreter.orders);
        let ending = interpreter.ending;
        self.memory.root = root;
        parts.ending = ending.iter().map(|(number, _)| *number).collect();
        parts.ending.sort_unstable();
        parts.ending.dedup();
        parts.checkpoint = self.memory.completed().len() > completed;
        let errors = self.memory.errors().get(failed..).unwrap_or_default();
        let failed = note(&event.event, ended, errors);
        parts.notes.splice(0..0, failed);
        self.outcome = end;
        let mut drafts = vec![self.draft(Some(event), kind, from, parts)];
        if end.is_some() {
            let to = WorkflowState::Terminate;
            drafts.push(self.draft(None, WorkflowEntryKind::Seal, to, EntryParts::default()));
        }
        let mut effects = vec![WorkflowEffect::Append(drafts)];
        let begin = |order: StepOrder| WorkflowEffect::Begin(Box::new(order));
        effects.extend(orders.into_iter().map(begin));
        let end_step = |(number, how)| WorkflowEffect::End { number, how };
        effects.extend(ending.into_iter().map(end_step));
        effects.extend(end.map(WorkflowEffect::Finish));
        effects
    }

    /// Returns the orders of the step runs under way, for a new process.
    fn reissue(&self) -> (Vec<BegunStep>, Vec<StepOrder>) {
        let again = self.memory.in_flight.iter().filter_map(|(number, run)| {
            let input = self.inputs.get(number)?.clone();
            let begun = BegunStep {
                compensates: run.compensates,
                input_hash: run.input_hash,
                labels: run.labels.clone(),
                number: *number,
                place: run.place.clone(),
                step: run.step.clone(),
            };
            let order = StepOrder {
                compensates: run.compensates,
                input,
                labels: run.labels.clone(),
                number: *number,
                place: run.place.clone(),
                step: run.step.clone(),
            };
            Some((begun, order))
        });
        again.unzip()
    }
}
