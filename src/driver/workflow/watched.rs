//! Follows a step run and the runs below it, and reports where one waits for a person. Answers nothing.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::contract::ExecutionContract;
use crate::driver::Observer;
use crate::kernel::{CallOrder, EntryDraft, Run};
use crate::message::{InferenceSeq, RunId};
use crate::session::Control;
use crate::transcript::SealedEntry;

/// A call that waits for a person.
pub(super) struct Asked {
    /// Where its run is asked for something.
    pub(super) control: mpsc::Sender<Control>,
    pub(super) order: CallOrder,
    /// Its run: that of the step, or one below it.
    pub(super) run_id: RunId,
}

/// Follows one run.
pub(super) struct Watched {
    /// Where calls go that wait.
    pub(super) asks: mpsc::UnboundedSender<Asked>,
    pub(super) control: mpsc::Sender<Control>,
    /// Who else sees the run.
    pub(super) observer: Box<dyn Observer>,
    pub(super) run_id: RunId,
}

impl Observer for Watched {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        self.observer.entry(draft, sealed, run);
        if let Some(order) = run.awaited() {
            let asked = Asked {
                control: self.control.clone(),
                order,
                run_id: self.run_id.clone(),
            };
            // The workflow ends before its steps do only where it is dropped with them.
            drop(self.asks.send(asked));
        }
    }

    fn below(&mut self, run_id: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(Self {
            asks: self.asks.clone(),
            control: control.clone(),
            observer: self.observer.below(run_id, control),
            run_id: run_id.clone(),
        })
    }

    fn recorded(&mut self, contract: &Arc<ExecutionContract>, entries: &[SealedEntry]) {
        self.observer.recorded(contract, entries);
    }

    fn text(&mut self, inference: InferenceSeq, text: &str) {
        self.observer.text(inference, text);
    }
}
