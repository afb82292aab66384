//! What an entry says to people of the failures that came with its event. Decides nothing.

use super::books::StepError;
use super::{StepResult, WorkflowEventKind};
use crate::contract::WorkflowCode;

/// A step run that has just ended.
#[derive(Clone, Debug)]
pub(super) struct EndedStep {
    pub(super) number: u64,
    pub(super) place: String,
    pub(super) result: Result<(), WorkflowCode>,
}

/// What failed with an event, each at its place and with its reason; none where nothing did.
///
/// A step whose end was requested has not failed, however its run ended.
pub(super) fn note(
    event: &WorkflowEventKind,
    ended: Option<&EndedStep>,
    errors: &[StepError],
) -> Option<String> {
    let mut own = ended.filter(|ended| ended.result.is_err());
    let failures = errors.iter().map(|error| {
        let StepError {
            code,
            compensation,
            place,
        } = error;
        let what = match (place.as_str(), compensation) {
            ("", _) => "the workflow".to_owned(),
            (place, true) => format!("the compensation of {place}"),
            (place, false) => place.to_owned(),
        };
        // A compensation stands below what it undoes. The first error of a step that failed is its own.
        let is_own = |ended: &&EndedStep| ended.place.starts_with(place.as_str());
        let reason = (!place.is_empty())
            .then(|| own.take_if(|ended| is_own(ended)))
            .flatten()
            .and_then(|_| reason(event));
        let reason = reason.unwrap_or_else(|| code.as_str().to_owned());
        format!("{what} failed: {reason}")
    });
    let failures: Vec<String> = failures.collect();
    (!failures.is_empty()).then(|| failures.join("; "))
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
