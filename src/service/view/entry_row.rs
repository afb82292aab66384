//! One entry of a run as a row of a list.

use crate::text::escape::line;
use crate::text::narration::{Transition, started_beside};
use monolith_core::kernel::{Action, EntryKind, EventKind, State};
use monolith_core::message::{Digest, EnvelopeStatus, ToolOutcome};
use monolith_core::view::{Entry, RunView, Step};

/// The content of one entry.
#[derive(Clone, Debug)]
pub struct EntryRow {
    /// Time since the run began.
    pub at_ms: u64,
    /// The event in words.
    pub detail: String,
    /// True if a request or a call failed, or something was refused.
    pub failed: bool,
    /// State before the entry.
    pub from: State,
    /// Hash of the entry.
    pub hash: Digest,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Number of the predicate that decided, if the detail begins with its words.
    pub rule: Option<u8>,
    /// Number of the entry.
    pub seq: u64,
    /// Tokens and time of the step.
    pub step: Step,
    /// State after the entry.
    pub to: State,
    /// True if a tag of the model was ignored, or taken although it is not closed.
    pub warned: bool,
}

impl EntryRow {
    /// Returns the row of the entry that `view` took last, in that step.
    pub(crate) fn of(view: &RunView, entry: Entry<'_>, step: Step) -> Self {
        let action = entry.action;
        let transition = Transition::of(view, entry);
        let transition = transition.filter(|_| action.kind == EntryKind::Transition);
        let rule = transition.as_ref().and_then(|transition| transition.rule);
        Self {
            at_ms: view.at_ms(),
            detail: transition.map_or_else(|| beside(view, action), |transition| transition.detail),
            failed: entry.event.is_some_and(|event| failed(&event.event))
                || view.refuses_calls(action)
                || view.refused_report(action).is_some(),
            from: action.from,
            hash: entry.hash,
            kind: action.kind,
            rule,
            seq: action.seq,
            step,
            to: action.to,
            warned: entry.event.is_some_and(|event| warned(&event.event)),
        }
    }

    /// True if it is the last entry of its run.
    #[must_use]
    pub fn is_seal(&self) -> bool {
        self.kind == EntryKind::Seal
    }
}

/// Returns the words for an entry that is no transition.
fn beside(view: &RunView, action: &Action) -> String {
    let note = action.note.as_deref().map(line);
    let parts = note.into_iter().chain(started_beside(view, action));
    let note = parts.collect::<Vec<String>>().join("; ");
    match action.kind {
        EntryKind::Start => "the run begins".to_owned(),
        EntryKind::Seal => "sealed".to_owned(),
        EntryKind::Ignored => "an event that came too late".to_owned(),
        EntryKind::Noted | EntryKind::Transition => note,
    }
}

fn warned(event: &EventKind) -> bool {
    matches!(event, EventKind::InferenceReturned(returned) if !returned.result.tag_warnings.is_empty())
}

/// True if a request or a call failed, or something was refused or lost.
fn failed(event: &EventKind) -> bool {
    match event {
        EventKind::InferenceFailed(_)
        | EventKind::ApprovalDenied(_)
        | EventKind::EffectLost(_)
        | EventKind::Interrupted(_) => true,
        EventKind::InferenceReturned(returned) => returned.result.failure_code.is_some(),
        EventKind::ToolReturned(returned) => match &returned.outcome {
            ToolOutcome::Returned(envelope) => envelope.status != EnvelopeStatus::Ok,
            ToolOutcome::InputRequired(_) | ToolOutcome::SamplingRequired(_) => false,
            ToolOutcome::Malformed { .. }
            | ToolOutcome::TimedOut
            | ToolOutcome::ConnectionLost { .. }
            | ToolOutcome::Cancelled
            | ToolOutcome::ToolChanged { .. }
            | ToolOutcome::RestartInProgress
            | ToolOutcome::RestartFailed { .. } => true,
        },
        EventKind::RunStarted(_)
        | EventKind::Probed(_)
        | EventKind::CallStreamed(_)
        | EventKind::TimerFired
        | EventKind::StopRequested
        | EventKind::ApprovalGiven(_)
        | EventKind::Suspended
        | EventKind::Resumed(_) => false,
    }
}
