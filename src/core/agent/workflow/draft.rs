//! The entries of the machine: what each states of the step and of the checkpoint, and its note for people. Decides nothing.

use super::checkpoint::{CheckpointContext, CheckpointRecord, StepOutputs};
use super::memory::StepError;
use super::{
    BegunStep, StepResult, Workflow, WorkflowAction, WorkflowDraft, WorkflowEntryKind,
    WorkflowEvent, WorkflowEventKind, WorkflowState,
};
use crate::contract::WorkflowCode;

/// The parts of an entry besides its state.
#[derive(Default)]
pub(super) struct EntryParts {
    pub(super) begun: Vec<BegunStep>,
    pub(super) checkpoint: bool,
    pub(super) ending: Vec<u64>,
    pub(super) notes: Vec<String>,
}

impl Workflow {
    /// The next entry.
    pub(super) fn draft(
        &mut self,
        event: Option<WorkflowEvent>,
        kind: WorkflowEntryKind,
        from: WorkflowState,
        parts: EntryParts,
    ) -> WorkflowDraft {
        let seq = self.entries;
        self.entries = self.entries.saturating_add(1);
        let sealed = kind == WorkflowEntryKind::Seal;
        let state_digest = self.memory.digest();
        let checkpoint = parts.checkpoint.then(|| self.record());
        let taken = event
            .as_ref()
            .filter(|_| kind != WorkflowEntryKind::Ignored);
        let note = taken.and_then(|event| self.note(event));
        let notes: Vec<String> = note.into_iter().chain(parts.notes).collect();
        WorkflowDraft {
            action: WorkflowAction {
                begun: parts.begun,
                checkpoint: checkpoint.flatten(),
                counters: self.memory.counters,
                ending: parts.ending,
                from,
                kind,
                length: sealed.then_some(self.entries),
                note: (!notes.is_empty()).then(|| notes.join("; ")),
                outcome: self.outcome,
                seq,
                state_digest,
                to: self.state(),
            },
            event,
        }
    }

    /// Returns the entry's checkpoint; none before a step has completed.
    fn record(&self) -> Option<Box<CheckpointRecord>> {
        Some(Box::new(CheckpointRecord {
            completed_step_id: self.memory.last_completed.clone()?,
            context: CheckpointContext {
                at_ms: self.at_ms,
                entries: self.entries,
                outcome: self.outcome,
                started: self.started_digest,
            },
            memory_snapshot: self.memory.clone(),
            step_index: self.step_index(),
            step_outputs: StepOutputs {
                digest: self.outputs.digest(),
                runs: self.outputs.places().to_vec(),
            },
        }))
    }

    /// Returns why no more steps begin, if the event says that.
    fn note(&self, event: &WorkflowEvent) -> Option<String> {
        match &event.event {
            WorkflowEventKind::TimerFired => {
                let (at, most) = (self.at_ms, self.definition.total_timeout_ms);
                let why = format!("limits.total_timeout_ms: {at} of {most} ms are over");
                Some(self.under_way_text(&why))
            }
            WorkflowEventKind::StopRequested => Some(self.under_way_text("a stop was asked for")),
            WorkflowEventKind::Interrupted => {
                Some(self.under_way_text("an end at once was asked for"))
            }
            WorkflowEventKind::Started(_)
            | WorkflowEventKind::StepEnded { .. }
            | WorkflowEventKind::Suspended
            | WorkflowEventKind::Resumed => None,
        }
    }

    /// The index of the last step of the definition's array that has completed.
    fn step_index(&self) -> Option<u64> {
        let before = self.memory.root.sequence.at.checked_sub(1)?;
        u64::try_from(before).ok()
    }

    /// States why no more steps begin, with the progress of the workflow.
    fn under_way_text(&self, why: &str) -> String {
        let (begun, most) = (self.memory.counters.steps, self.definition.max_steps);
        let under_way = self.memory.in_flight.values();
        let under_way: Vec<&str> = under_way.map(|run| run.place.as_str()).collect();
        let under_way = match under_way.as_slice() {
            [] => "none under way".to_owned(),
            places => format!("under way: {}", places.join(", ")),
        };
        format!("{why}; {begun} of {most} steps begun, {under_way}")
    }
}

/// A step run that has just ended.
#[derive(Clone, Debug)]
pub(super) struct EndedStep {
    pub(super) number: u64,
    pub(super) place: String,
    pub(super) result: Result<(), WorkflowCode>,
}

/// Describes the failure of a run in an event, with its place and its reason; `None` if nothing failed.
///
/// A step whose end was requested has not failed, however its run ended. What fails without a run is noted where it does.
pub(super) fn note(
    event: &WorkflowEventKind,
    ended: Option<&EndedStep>,
    errors: &[StepError],
) -> Option<String> {
    let ended = ended.filter(|ended| ended.result.is_err())?;
    // A compensation stands below what it undoes. The first error of a step that failed is its own.
    let own = errors.iter().find(|error| {
        let place = error.place.as_str();
        !place.is_empty() && ended.place.starts_with(place)
    })?;
    let what = if own.compensation {
        "the compensation of "
    } else {
        ""
    };
    let reason = reason(event).unwrap_or_else(|| own.code.as_str().to_owned());
    Some(format!("{what}{} failed: {reason}", own.place))
}

/// Returns why the step of this event failed, in its own words.
fn reason(event: &WorkflowEventKind) -> Option<String> {
    let WorkflowEventKind::StepEnded { result, .. } = event else {
        return None;
    };
    match &**result {
        StepResult::NotBegun(reason) => Some(reason.clone()),
        StepResult::Run(run) => run
            .reason
            .clone()
            .or_else(|| Some(run.failure.map(|_| run.outcome)?.to_string())),
    }
}
