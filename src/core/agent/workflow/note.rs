//! The note of an entry, for people, about the failures that came with its event. Decides nothing.

use super::memory::StepError;
use super::{StepResult, WorkflowEventKind};
use crate::contract::WorkflowCode;

/// A step run that has just ended.
#[derive(Clone, Debug)]
pub(super) struct EndedStep {
    pub(super) number: u64,
    pub(super) place: String,
    pub(super) result: Result<(), WorkflowCode>,
}

/// What failed with an event by its run, at its place and with its reason; `None` if nothing did.
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

/// Why the step of this event failed, in its own words.
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
