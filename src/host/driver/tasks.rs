//! The tasks that perform effects. Does not know what an effect does.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;

use monolith_core::kernel::{LostEffect, Probed, ProbedTarget};
use monolith_core::message::{CallSeq, InferenceSeq, ToolOutcome};
use monolith_core::session::Input;
use tokio::task::{Id, JoinError, JoinSet};

use super::DriverError;
use super::perform::Done;

/// The tasks that perform effects, and which effect each performs.
#[derive(Default)]
pub(super) struct Tasks {
    /// Calls whose task has panicked before: the next time they are not lost but failed, for lost ones may be made again.
    failed: BTreeSet<CallSeq>,
    performs: HashMap<Id, Performed>,
    set: JoinSet<Done>,
}

/// The effect that a task performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Performed {
    /// The probe of so many targets.
    Probe(usize),
    Inference(InferenceSeq),
    Call(CallSeq),
    Delegation(CallSeq),
}

impl Tasks {
    pub(super) fn spawn(
        &mut self,
        performs: Performed,
        task: impl Future<Output = Done> + Send + 'static,
    ) {
        let handle = self.set.spawn(task);
        self.performs.insert(handle.id(), performs);
    }

    /// Waits for the next task to end, and returns its result; none if there is no task. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Option<Done> {
        loop {
            match self.set.join_next_with_id().await? {
                Ok((id, done)) => {
                    self.performs.remove(&id);
                    return Some(done);
                }
                // A panic of a run below is this one's, too: both can be resumed.
                Err(fault) if self.is_delegation(&fault) && fault.is_panic() => {
                    std::panic::resume_unwind(fault.into_panic());
                }
                Err(fault) => {
                    if let Some(input) = self.lost(&fault) {
                        return Some(input.into());
                    }
                }
            }
        }
    }

    fn is_delegation(&self, fault: &JoinError) -> bool {
        let performs = self.performs.get(&fault.id());
        matches!(performs, Some(Performed::Delegation(_)))
    }

    /// Returns the input for a task that panicked.
    fn lost(&mut self, fault: &JoinError) -> Option<Input> {
        Some(match self.performs.remove(&fault.id())? {
            Performed::Probe(targets) => {
                let target = ProbedTarget {
                    detail: "monolith itself failed while it asked".to_owned(),
                    responsive: false,
                    ..ProbedTarget::default()
                };
                let targets = vec![target; targets];
                Input::Probed(Probed { targets })
            }
            Performed::Inference(inference) => Input::Lost(LostEffect::Inference(inference)),
            // The delegation was cut off with its process: the next process resumes its run.
            Performed::Delegation(_) => return None,
            Performed::Call(call) if self.failed.insert(call) => {
                Input::Lost(LostEffect::Call(call))
            }
            Performed::Call(call) => Input::ToolResult {
                call,
                exchanges: Vec::new(),
                outcome: ToolOutcome::ConnectionLost {
                    detail: "monolith itself failed during the call, again".to_owned(),
                },
            },
        })
    }

    /// Returns true if no task is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Counts the tasks under way.
    pub(super) fn count(&self) -> usize {
        self.set.len()
    }

    /// Waits until every task has ended.
    pub(super) async fn all(&mut self) {
        while self.set.join_next().await.is_some() {}
        self.performs.clear();
    }
}

/// Returns the result of `work`; a panic in it resumes in the caller.
///
/// # Errors
/// Those of `work`, and [`DriverError::Cancelled`] where the process ends.
pub async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<DriverError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
        Err(_) => Err(DriverError::Cancelled.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn panicked(tasks: &mut Tasks, performs: Performed) -> Input {
        tasks.spawn(performs, async { panic!("as the test wants") });
        let done = tasks.next().await.expect("the task has panicked");
        done.input.expect("it says what was lost")
    }

    #[tokio::test]
    async fn a_task_that_panics_is_its_own_effect_lost() {
        let mut tasks = Tasks::default();
        let inference = InferenceSeq(3);
        let lost = panicked(&mut tasks, Performed::Inference(inference)).await;
        assert_eq!(lost, Input::Lost(LostEffect::Inference(inference)));
        let Input::Probed(probed) = panicked(&mut tasks, Performed::Probe(2)).await else {
            panic!("a probe is answered");
        };
        assert_eq!(probed.targets.len(), 2);
        assert!(probed.targets.iter().all(|target| !target.responsive));
        assert!(tasks.next().await.is_none());
    }

    #[tokio::test]
    async fn a_call_that_panics_again_has_failed_for_good() {
        let mut tasks = Tasks::default();
        let call = Performed::Call(CallSeq(1));
        let first = panicked(&mut tasks, call).await;
        assert_eq!(first, Input::Lost(LostEffect::Call(CallSeq(1))));
        let second = panicked(&mut tasks, call).await;
        assert!(matches!(second, Input::ToolResult { outcome, .. }
            if matches!(outcome, ToolOutcome::ConnectionLost { .. })));
    }
}
