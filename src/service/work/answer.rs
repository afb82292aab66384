//! The answer of a step of an item, and the signals that end the step early. Plain data.

use std::ops::ControlFlow;

use tokio_util::sync::CancellationToken;

use crate::error::ServiceError;
use crate::secrets::without_secrets;
use monolith_core::message::Digest;
use monolith_core::work::{TestEnd, WorkEventKind};
use monolith_host::work_tree::WorkTreeError;

/// The answer of a step.
#[derive(Debug)]
pub(super) enum Answer {
    /// An event for the machine.
    Event(WorkEventKind),
    /// The tests have ended.
    Tested {
        end: Box<TestEnd>,
        /// The tree hash of the work tree that the changes were applied to.
        on: Digest,
        /// The output as it is kept.
        output: String,
    },
    /// The step was left: another process does it again.
    Left,
    /// The item cannot be driven on here, and why. It stays as it is.
    Broken(Box<ServiceError>),
}

/// The signals that end a step early.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// The step is to end: its deadline has passed, or a person wants that.
    pub(super) stop: CancellationToken,
    /// The step is left to another process.
    pub(super) suspend: CancellationToken,
}

impl Signals {
    /// A watch that breaks once the step is to end, or is left.
    pub(super) fn watch(&self) -> impl Fn(u64) -> ControlFlow<()> + Send + Sync + use<> {
        let Self { stop, suspend } = self.clone();
        move |_| {
            if stop.is_cancelled() || suspend.is_cancelled() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }

    /// The answer of a step that the file layer refuses, or that the watch broke.
    pub(super) fn refused(&self, fault: WorkTreeError) -> Answer {
        match fault {
            WorkTreeError::Stopped if !self.stop.is_cancelled() => Answer::Left,
            fault => fault.into(),
        }
    }
}

impl Answer {
    /// The host could not do it, and the work tree is unchanged.
    pub(super) fn failed(reason: &str) -> Self {
        Self::Event(WorkEventKind::HostFailed {
            reason: without_secrets(reason),
        })
    }
}

impl From<WorkTreeError> for Answer {
    fn from(fault: WorkTreeError) -> Self {
        match fault {
            WorkTreeError::Conflict { paths } => Self::Event(WorkEventKind::Conflict { paths }),
            fault => Self::failed(&fault.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_stopped_fails_and_one_that_is_suspended_is_left() {
        let signals = Signals::default();
        let watch = signals.watch();
        assert!(watch(0).is_continue());
        signals.suspend.cancel();
        assert!(watch(0).is_break());
        let answer = signals.refused(WorkTreeError::Stopped);
        assert!(matches!(answer, Answer::Left), "{answer:?}");
        signals.stop.cancel();
        let answer = signals.refused(WorkTreeError::Stopped);
        let is_failed = matches!(answer, Answer::Event(WorkEventKind::HostFailed { .. }));
        assert!(is_failed, "{answer:?}");
    }
}
