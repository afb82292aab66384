//! Follows a step run and the runs below it, and reports which calls wait for a person. Answers nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use crate::contract::ExecutionContract;
use crate::driver::Observer;
use crate::kernel::{CallOrder, EntryDraft, Run};
use crate::message::{CallSeq, Digest, InferenceSeq, RunId};
use crate::session::Control;
use crate::transcript::SealedEntry;

/// A call that waits for a person.
#[derive(Clone)]
pub(super) struct ApprovalRequest {
    /// Where its run is asked for something.
    pub(super) control: mpsc::Sender<Control>,
    pub(super) order: CallOrder,
    /// Its run: that of a step, or one below it.
    pub(super) run_id: RunId,
}

/// What the step runs of a workflow report: at most one call of each run that waits.
#[derive(Default)]
pub(super) struct Reports {
    changed: Notify,
    requests: Mutex<BTreeMap<RunId, ApprovalRequest>>,
}

impl Reports {
    /// Waits for the next report.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The calls that wait, and have no answer yet.
    pub(super) fn requests(&self) -> Vec<ApprovalRequest> {
        self.noted().values().cloned().collect()
    }

    /// The call of that run has its answer, which the run may not have taken yet.
    pub(super) fn answered(&self, run_id: &RunId) {
        self.noted().remove(run_id);
    }

    fn noted(&self) -> MutexGuard<'_, BTreeMap<RunId, ApprovalRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows one run.
pub(super) struct Watched {
    control: mpsc::Sender<Control>,
    /// Who else sees the run.
    observer: Box<dyn Observer>,
    reports: Arc<Reports>,
    run_id: RunId,
    /// The call that it waits with.
    waits: Option<(CallSeq, Digest)>,
}

impl Watched {
    /// Follows the run of a step.
    pub(super) fn step(
        run_id: RunId,
        reports: Arc<Reports>,
        control: mpsc::Sender<Control>,
        observer: Box<dyn Observer>,
    ) -> Self {
        Self {
            control,
            observer,
            reports,
            run_id,
            waits: None,
        }
    }
}

impl Observer for Watched {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        self.observer.entry(draft, sealed, run);
        let order = run.awaited();
        let waits = order
            .as_ref()
            .map(|order| (order.call, order.arguments_hash));
        if waits == self.waits {
            return;
        }
        self.waits = waits;
        let mut requests = self.reports.noted();
        match order {
            Some(order) => {
                let request = ApprovalRequest {
                    control: self.control.clone(),
                    order,
                    run_id: self.run_id.clone(),
                };
                requests.insert(self.run_id.clone(), request);
            }
            None => {
                requests.remove(&self.run_id);
            }
        }
        drop(requests);
        self.reports.changed.notify_one();
    }

    fn below(&mut self, run_id: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(Self {
            control: control.clone(),
            observer: self.observer.below(run_id, control),
            reports: Arc::clone(&self.reports),
            run_id: run_id.clone(),
            waits: None,
        })
    }

    fn recorded(&mut self, contract: &Arc<ExecutionContract>, entries: &[SealedEntry]) {
        self.observer.recorded(contract, entries);
    }

    fn text(&mut self, inference: InferenceSeq, text: &str) {
        self.observer.text(inference, text);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.reports.noted().remove(&self.run_id);
    }
}
