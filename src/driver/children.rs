//! The runs below a run while it is driven: what is asked of it is asked of them.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::below::Below;
use crate::message::{CallSeq, RunId};
use crate::session::Control;
use crate::store::Store;

/// The runs below the run.
pub(super) struct Children {
    pub(super) below: Option<Below>,
    /// Where each is asked for something that goes on.
    pub(super) controls: BTreeMap<CallSeq, mpsc::Sender<Control>>,
    pub(super) max_inferences: Option<usize>,
    pub(super) run_id: RunId,
    pub(super) store: Store,
}

impl Children {
    /// What is asked of a run reaches all below it.
    pub(super) fn tell(&self, control: &Control) {
        for child in self.controls.values() {
            // One that is so far behind was asked to end often enough.
            drop(child.try_send(control.clone()));
        }
    }
}
