//! Follows a step run and the runs below it, and reports where one waits for a person. Answers nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use crate::contract::ExecutionContract;
use crate::driver::Observer;
use crate::kernel::{CallOrder, EntryDraft, Run};
use crate::message::{CallSeq, Digest, InferenceSeq, RunId};
use crate::session::Control;
use crate::transcript::SealedEntry;

/// A call that waits for a person.
pub(super) struct ApprovalRequest {
    /// Where its run is asked for something.
    pub(super) control: mpsc::Sender<Control>,
    /// The number of the step that it is in or below.
    pub(super) number: u64,
    pub(super) order: CallOrder,
    /// Its run: that of the step, or one below it.
    pub(super) run_id: RunId,
}

/// What the step runs of a workflow report: at most one call of each run that waits, and which of them are up.
#[derive(Default)]
pub(super) struct Reports {
    changed: Notify,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    requests: BTreeMap<RunId, ApprovalRequest>,
    /// The numbers of the step runs that had an entry in this process.
    up: BTreeSet<u64>,
}

impl Reports {
    /// Waits for the next report.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The calls that wait, each once.
    pub(super) fn requests(&self) -> Vec<ApprovalRequest> {
        let requests = std::mem::take(&mut self.noted().requests);
        requests.into_values().collect()
    }

    /// Whether all of these step runs had an entry in this process.
    pub(super) fn are_up<'n>(&self, mut numbers: impl Iterator<Item = &'n u64>) -> bool {
        let noted = self.noted();
        numbers.all(|number| noted.up.contains(number))
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows one run.
pub(super) struct Watched {
    control: mpsc::Sender<Control>,
    /// Whether it is known to be up; that of a run below a step is of no interest.
    is_up: bool,
    /// The number of the step that it is, or stands below.
    number: u64,
    /// Who else sees the run.
    observer: Box<dyn Observer>,
    reports: Arc<Reports>,
    run_id: RunId,
    /// The call that it waits with, where that is reported already.
    waits: Option<(CallSeq, Digest)>,
}

impl Watched {
    /// Follows the run of the step with that number.
    pub(super) fn step(
        number: u64,
        run_id: RunId,
        reports: Arc<Reports>,
        (control, observer): (mpsc::Sender<Control>, Box<dyn Observer>),
    ) -> Self {
        Self {
            control,
            is_up: false,
            number,
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
        let is_new = waits != self.waits;
        self.waits = waits;
        let order = order.filter(|_| is_new);
        let was_up = std::mem::replace(&mut self.is_up, true);
        if was_up && order.is_none() {
            return;
        }
        let mut noted = self.reports.noted();
        noted.up.insert(self.number);
        if let Some(order) = order {
            let request = ApprovalRequest {
                control: self.control.clone(),
                number: self.number,
                order,
                run_id: self.run_id.clone(),
            };
            noted.requests.insert(self.run_id.clone(), request);
        }
        drop(noted);
        self.reports.changed.notify_one();
    }

    fn below(&mut self, run_id: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(Self {
            control: control.clone(),
            is_up: true,
            number: self.number,
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
