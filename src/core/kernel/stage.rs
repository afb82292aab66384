//! The states with what only they hold: a state that has no batch cannot be asked for one.

use super::batch::{Batch, Ended};
use super::{Outcome, State};
use crate::message::{InferenceSeq, ProtocolAdapterResult, Usage};

/// The wait of INFER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    Inference(InferenceSeq),
    Wait {
        until_ms: u64,
    },
    /// No event: the run is suspended, and a request is due, or a wait before it that ends then.
    Due {
        not_before_ms: u64,
    },
}

/// The response that INFER hands to VALIDATE_CALLS.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    pub(super) gate_breached: bool,
    pub(super) result: ProtocolAdapterResult,
    pub(super) usage: Usage,
}

/// The state the machine is in, with what only this state holds.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// The probe is awaited.
    Precheck,
    Infer(Awaited),
    ValidateCalls(Box<Arrived>),
    Execute(Batch),
    Observe(Ended),
    Commit,
    Terminate(Outcome),
}

/// A [`Stage`] as an entry sees it.
#[derive(Clone, Copy)]
pub(super) enum StageView<'s> {
    Precheck,
    Infer(Awaited),
    ValidateCalls,
    Execute(&'s Batch),
    Observe(&'s Ended),
    Commit,
    Terminate(Outcome),
}

/// A state in which the machine waits for an event, and which it leaves when the run has to end.
pub(super) enum Resting<'s> {
    Precheck,
    Infer(&'s mut Awaited),
    Execute(&'s mut Batch),
}

impl Stage {
    pub(super) const fn view(&self) -> StageView<'_> {
        match self {
            Self::Precheck => StageView::Precheck,
            Self::Infer(awaited) => StageView::Infer(*awaited),
            Self::ValidateCalls(_) => StageView::ValidateCalls,
            Self::Execute(batch) => StageView::Execute(batch),
            Self::Observe(ended) => StageView::Observe(ended),
            Self::Commit => StageView::Commit,
            Self::Terminate(outcome) => StageView::Terminate(*outcome),
        }
    }

    pub(super) const fn state(&self) -> State {
        self.view().state()
    }
}

impl StageView<'_> {
    pub(super) const fn state(self) -> State {
        match self {
            Self::Precheck => State::Precheck,
            Self::Infer(_) => State::Infer,
            Self::ValidateCalls => State::ValidateCalls,
            Self::Execute(_) => State::Execute,
            Self::Observe(_) => State::Observe,
            Self::Commit => State::Commit,
            Self::Terminate(_) => State::Terminate,
        }
    }

    /// Returns the outcome, once the run ended.
    pub(super) const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Terminate(outcome) => Some(outcome),
            Self::Precheck
            | Self::Infer(_)
            | Self::ValidateCalls
            | Self::Execute(_)
            | Self::Observe(_)
            | Self::Commit => None,
        }
    }
}

impl Resting<'_> {
    /// True if the run is to end and waits only for the ends of child runs.
    pub(super) fn is_ending(&self) -> bool {
        match self {
            Self::Precheck | Self::Infer(_) => false,
            Self::Execute(batch) => batch.ending,
        }
    }

    pub(super) const fn view(&self) -> StageView<'_> {
        match self {
            Self::Precheck => StageView::Precheck,
            Self::Infer(awaited) => StageView::Infer(**awaited),
            Self::Execute(batch) => StageView::Execute(batch),
        }
    }
}
