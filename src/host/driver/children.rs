//! The runs below a run while it is driven: what is asked of it is asked of them.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::below::Below;
use super::delegating::Drive;
use super::waiting::Waiting;
use crate::store::Store;
use monolith_core::message::{CallSeq, RunId};
use monolith_core::session::Control;

/// The runs below the run.
pub(super) struct Children {
    pub(super) below: Option<Below>,
    /// Where each is asked for something that goes on.
    pub(super) controls: BTreeMap<CallSeq, mpsc::Sender<Control>>,
    /// How each is driven.
    pub(super) drive: Drive,
    pub(super) max_inferences: Option<usize>,
    /// Whether the run above has ended, so that they are brought to their ends alone.
    pub(super) orphan: bool,
    pub(super) run_id: RunId,
    pub(super) store: Store,
    /// Those that wait for a person.
    pub(super) waiting: Waiting,
}

impl Children {
    /// That call's run has come to its end.
    pub(super) fn ended(&mut self, call: CallSeq) {
        self.controls.remove(&call);
    }

    /// What is asked of a run reaches all below it.
    pub(super) fn broadcast(&self, control: &Control) {
        for child in self.controls.values() {
            // One that is so far behind was asked to end often enough.
            drop(child.try_send(control.clone()));
        }
    }
}
