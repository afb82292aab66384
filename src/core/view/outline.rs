//! The outline of a run for lists, from its first and last entries. Reads nothing between them.

use super::run_start::RunStart;
use super::{DecodedEntry, Entry};
use crate::contract::ExecutionContract;
use crate::kernel::{Counters, EntryKind, EventKind};

/// What a list shows of a run, from its first entry and its last ones: nothing between them is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutline {
    /// The id of the contract.
    pub contract_id: String,
    /// What is used up.
    pub counters: Counters,
    /// Milliseconds since the run began, at the last event.
    pub elapsed_ms: u64,
    /// `provider/model` of each target, in the contract's order.
    pub models: Vec<String>,
    /// Whether a process left the run, to be gone on with, and no process has since; `None` if no entry records it.
    pub suspended: Option<bool>,
    /// What the user said last before the run.
    pub task: Option<String>,
}

impl RunOutline {
    /// The outline of a run with nothing but its beginning; none if `first` is no beginning.
    pub fn begin(contract: &ExecutionContract, first: &DecodedEntry) -> Option<Self> {
        let start = RunStart::of(first.entry().event?)?;
        let targets = contract.targets.iter();
        let models = targets.map(|target| format!("{}/{}", target.provider, target.model));
        Some(Self {
            contract_id: contract.contract_id().to_owned(),
            counters: Counters::default(),
            elapsed_ms: 0,
            models: models.collect(),
            suspended: None,
            task: start.task,
        })
    }

    /// Takes one of the last entries, in order.
    pub fn take(&mut self, entry: Entry<'_>) {
        self.counters = entry.action.counters;
        if let Some(event) = entry.event {
            self.elapsed_ms = event.at_ms;
            match event.event {
                EventKind::Suspended if entry.action.kind != EntryKind::Ignored => {
                    self.suspended = Some(true);
                }
                EventKind::Resumed(_) => self.suspended = Some(false),
                _ => {}
            }
        }
    }
}
