//! A workflow's entries folded into its steps: where each stands, and what it came to. Decides nothing.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    StepResult, WorkflowAction, WorkflowCounters, WorkflowEvent, WorkflowEventKind,
    WorkflowStarted, WorkflowState,
};
use crate::contract::{StepId, WorkflowOutcome};
use crate::kernel::Outcome;
use crate::message::{Digest, RunId};
use crate::view::TreeUsage;

/// The state of a workflow, as its entries show it.
#[derive(Clone, Debug, Default)]
pub struct WorkflowView {
    /// The time that it was driven.
    pub at_ms: u64,
    /// Counters of its steps and calls.
    pub counters: WorkflowCounters,
    /// The last failure, or the reason that no more steps began: limit, step and figure, for people. Failures of compensations
    /// do not count.
    pub detail: Option<String>,
    /// Number of entries.
    pub entries: u64,
    /// The outcome; `None` until it has ended.
    pub outcome: Option<WorkflowOutcome>,
    /// Entry 0; `None` if no entry was given.
    pub started: Option<WorkflowStarted>,
    /// The state after the last entry.
    pub state: Option<WorkflowState>,
    /// Every step run, in the order in which they were begun.
    pub steps: Vec<StepView>,
    /// True if the last process suspended it.
    pub suspended: bool,
    /// The numbers of those whose end was requested.
    end_requested: BTreeSet<u64>,
}

/// One step run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepView {
    /// The number of the step run, from 0 in the order of their begins.
    pub number: u64,
    /// The place in the definition, as `name[iteration]` below its parents.
    pub place: String,
    /// The id of the step in the definition.
    pub step: StepId,
    /// The state of the step run.
    pub state: StepState,
    /// The number of the step that it undoes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensates: Option<u64>,
    /// Its run, once that is sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The hash of the last entry of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// Its outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Reason for its failure, or for not beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason that it is no run, or its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The usage of its run and of the child runs, if it is available: no entry of the workflow states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<TreeUsage>,
}

impl StepView {
    /// The reason of its failure, or the outcome of its run. A step can fail although its run ended well, so the reason comes first.
    #[must_use]
    pub fn failure(&self) -> String {
        match (&self.reason, self.outcome) {
            (Some(reason), _) => reason.clone(),
            (None, Some(outcome)) => outcome.to_string(),
            (None, None) => String::new(),
        }
    }

    /// True if the step, or its compensation, failed.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        matches!(
            self.state,
            StepState::Failed | StepState::CompensationFailed
        )
    }
}

/// The state of a step run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It was begun and has not ended.
    Running,
    /// It has completed.
    Done,
    /// It has failed, or could not begin.
    Failed,
    /// Its end was requested, and it ended.
    Ended,
    /// It had completed, and was undone.
    Compensated,
    /// It had completed, and could not be undone.
    CompensationFailed,
}

impl StepState {
    /// The state in a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Ended => "ended",
            Self::Compensated => "compensated",
            Self::CompensationFailed => "compensation failed",
        }
    }
}

impl WorkflowView {
    /// Takes what the run of a step used, and the runs below it.
    pub fn used_by(&mut self, number: u64, used: TreeUsage) {
        if let Some(step) = self.step(number) {
            step.used = Some(used);
        }
    }

    /// Returns the usage of all step runs; `None` if it is unknown for all of them.
    pub fn used(&self) -> Option<TreeUsage> {
        let used = self.steps.iter().filter_map(|step| step.used);
        used.reduce(TreeUsage::and)
    }

    /// Returns how many step runs of this workflow have ended with unknown usage.
    pub fn unknown_uses(&self) -> usize {
        let Some(started) = &self.started else {
            return 0;
        };
        let unknown = self.steps.iter().filter(|step| step.used.is_none());
        let own = unknown.filter(|step| {
            let run = step.run_id.as_ref();
            run.is_some_and(|run| run.is_step_of(&started.run_id, step.number))
        });
        own.count()
    }

    /// Takes the next entry.
    pub fn take(&mut self, action: &WorkflowAction, event: Option<&WorkflowEvent>) {
        self.entries = self.entries.saturating_add(1);
        self.counters = action.counters;
        self.outcome = action.outcome;
        self.state = Some(action.to);
        if let Some(note) = &action.note
            && !event.is_some_and(|event| self.is_compensation(&event.event))
        {
            self.detail = Some(note.clone());
        }
        if let Some(event) = event {
            self.at_ms = self.at_ms.max(event.at_ms);
            self.event(&event.event);
        }
        for begun in &action.begun {
            if self.step(begun.number).is_some() {
                continue;
            }
            self.steps.push(StepView {
                number: begun.number,
                place: begun.place.clone(),
                step: begun.step.clone(),
                state: StepState::Running,
                compensates: begun.compensates,
                run_id: None,
                head: None,
                outcome: None,
                reason: None,
                text: None,
                used: None,
            });
        }
        for number in &action.ending {
            self.end_requested.insert(*number);
        }
    }

    /// True if the end was requested of the step whose run has that name.
    pub fn is_end_requested(&self, run: &str) -> bool {
        let step = self.step_of(run);
        step.is_some_and(|step| self.end_requested.contains(&step.number))
    }

    /// The step that the run of that name is; `None` if it is no step of this workflow.
    pub fn step_of(&self, run: &str) -> Option<&StepView> {
        let (workflow, number) = run.rsplit_once('.')?;
        let own = self.started.as_ref()?;
        let number = number
            .parse()
            .ok()
            .filter(|_| workflow == own.run_id.as_str())?;
        self.steps.get(index_of(number)?)
    }

    /// A step run by its number: they are begun in that order, from 1.
    fn step(&mut self, number: u64) -> Option<&mut StepView> {
        self.steps.get_mut(index_of(number)?)
    }

    /// True if that is the end of a compensating run.
    fn is_compensation(&self, event: &WorkflowEventKind) -> bool {
        let WorkflowEventKind::StepEnded { number, .. } = event else {
            return false;
        };
        let step = index_of(*number).and_then(|place| self.steps.get(place));
        step.is_some_and(|step| step.compensates.is_some())
    }

    fn event(&mut self, event: &WorkflowEventKind) {
        match event {
            WorkflowEventKind::Started(started) => self.started = Some((**started).clone()),
            WorkflowEventKind::StepEnded { number, result } => self.ended(*number, result),
            WorkflowEventKind::Suspended => self.suspended = true,
            WorkflowEventKind::Resumed => self.suspended = false,
            WorkflowEventKind::TimerFired
            | WorkflowEventKind::StopRequested
            | WorkflowEventKind::Interrupted => {}
        }
    }

    fn ended(&mut self, number: u64, result: &StepResult) {
        let end_requested = self.end_requested.contains(&number);
        let Some(step) = self.step(number) else {
            return;
        };
        let ok = match result {
            StepResult::NotBegun(reason) => {
                step.reason = Some(reason.clone());
                step.text = Some(reason.clone());
                false
            }
            StepResult::Run(run) => {
                step.run_id = Some(run.run_id.clone());
                step.head = Some(run.head);
                step.outcome = Some(run.outcome);
                step.reason.clone_from(&run.reason);
                step.text = Some(run.output.clone());
                run.failure.is_none()
            }
        };
        step.state = match (ok, end_requested) {
            (true, _) => StepState::Done,
            (false, true) => StepState::Ended,
            (false, false) => StepState::Failed,
        };
        let undone = step.compensates;
        if let Some(undone) = undone.and_then(|undone| self.step(undone)) {
            undone.state = if ok {
                StepState::Compensated
            } else {
                StepState::CompensationFailed
            };
        }
    }
}

/// Returns the index of a step run in their list.
fn index_of(number: u64) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
