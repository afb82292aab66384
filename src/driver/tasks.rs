use std::collections::{BTreeSet, HashMap};
use std::future::Future;

use tokio::task::{Id, JoinError, JoinSet};

use super::perform::Answer;
use crate::kernel::{EventKind, LostEffect, Probed, ProbedTarget, ToolReturned};
use crate::message::{CallSeq, InferenceSeq, ToolOutcome};

/// The tasks that perform effects, and which effect each performs.
#[derive(Default)]
pub(super) struct Tasks {
    /// Calls whose task has panicked before: the next time they are not lost but failed, for lost ones may be made again.
    failed: BTreeSet<CallSeq>,
    performs: HashMap<Id, Performed>,
    set: JoinSet<Answer>,
}

/// The effect that a task performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Performed {
    /// The probe of so many targets.
    Probe(usize),
    Inference(InferenceSeq),
    Call(CallSeq),
}

/// How a task ended.
pub(super) enum Ended {
    Answered(Box<Answer>),
    /// It panicked: its effect has no result, and this is what the machine hears.
    Panicked(EventKind),
}

impl Tasks {
    pub(super) fn spawn(
        &mut self,
        performs: Performed,
        task: impl Future<Output = Answer> + Send + 'static,
    ) {
        let handle = self.set.spawn(task);
        self.performs.insert(handle.id(), performs);
    }

    /// Waits for the next task to end; none where there is none. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        loop {
            match self.set.join_next_with_id().await? {
                Ok((id, answer)) => {
                    self.performs.remove(&id);
                    return Some(Ended::Answered(Box::new(answer)));
                }
                Err(fault) => {
                    if let Some(event) = self.lost(&fault) {
                        return Some(Ended::Panicked(event));
                    }
                }
            }
        }
    }

    /// What a task that brought no answer comes to.
    fn lost(&mut self, fault: &JoinError) -> Option<EventKind> {
        Some(match self.performs.remove(&fault.id())? {
            Performed::Probe(targets) => {
                let target = ProbedTarget {
                    detail: "monolith itself failed while it asked".to_owned(),
                    responsive: false,
                };
                let targets = vec![target; targets];
                EventKind::Probed(Probed { targets })
            }
            Performed::Inference(inference) => {
                EventKind::EffectLost(LostEffect::Inference(inference))
            }
            Performed::Call(call) if self.failed.insert(call) => {
                EventKind::EffectLost(LostEffect::Call(call))
            }
            Performed::Call(call) => {
                let detail = "monolith itself failed during the call, again".to_owned();
                EventKind::ToolReturned(Box::new(ToolReturned {
                    call,
                    outcome: ToolOutcome::ConnectionLost { detail },
                }))
            }
        })
    }

    /// Waits until every task has ended.
    pub(super) async fn all(&mut self) {
        while self.set.join_next().await.is_some() {}
        self.performs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn panicked(tasks: &mut Tasks, performs: Performed) -> EventKind {
        tasks.spawn(performs, async { panic!("as the test wants") });
        match tasks.next().await {
            Some(Ended::Panicked(event)) => event,
            Some(Ended::Answered(_)) | None => panic!("the task has panicked"),
        }
    }

    #[tokio::test]
    async fn a_task_that_panics_is_its_own_effect_lost() {
        let mut tasks = Tasks::default();
        let inference = InferenceSeq(3);
        let lost = panicked(&mut tasks, Performed::Inference(inference)).await;
        assert_eq!(
            lost,
            EventKind::EffectLost(LostEffect::Inference(inference))
        );
        let EventKind::Probed(probed) = panicked(&mut tasks, Performed::Probe(2)).await else {
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
        assert_eq!(first, EventKind::EffectLost(LostEffect::Call(CallSeq(1))));
        let second = panicked(&mut tasks, call).await;
        assert!(matches!(second, EventKind::ToolReturned(returned)
            if matches!(returned.outcome, ToolOutcome::ConnectionLost { .. })));
    }
}
