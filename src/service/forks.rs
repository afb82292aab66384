//! The parts that a forked workflow shares with its origins: runs of steps, and the entries that began these.

use std::collections::BTreeSet;

use crate::error::ServiceError;
use crate::workflow_entries::{fork_parent, view_of};
use monolith_core::message::RunId;
use monolith_host::store::StoreReader;

/// A workflow that was forked from another one.
pub struct ForkedWorkflow {
    pub(crate) run_id: RunId,
    /// The runs of its steps that are those of others, in the order of the steps.
    pub shared: Vec<RunId>,
}

impl ForkedWorkflow {
    /// Reads one; `None` of a run, or of a workflow that was not forked. Of that its first entry alone is read.
    pub fn read(reader: &mut StoreReader, run_id: &RunId) -> Result<Option<Self>, ServiceError> {
        if !reader.is_workflow(run_id)? || fork_parent(reader, run_id)?.is_none() {
            return Ok(None);
        }
        let steps = view_of(reader, run_id)?.steps.into_iter();
        let shared = steps.filter_map(|step| {
            let run = step.run_id?;
            (!run.is_step_of(run_id, step.number)).then_some(run)
        });
        Ok(Some(Self {
            run_id: run_id.clone(),
            shared: shared.collect(),
        }))
    }

    /// The workflows that it was forked from, up to the last one whose steps it has; the store may lack some. No workflow above that one is
    /// read, and none at all if it has no steps of others.
    pub fn line(&self, reader: &mut StoreReader) -> Result<Vec<RunId>, ServiceError> {
        let owners = self.shared.iter().filter_map(RunId::workflow_of_step);
        let mut owners: BTreeSet<RunId> = owners.collect();
        let (mut line, mut needed) = (ForkLine::of(&self.run_id), 0);
        while !owners.is_empty()
            && let Some(above) = line.read_next(reader)?
        {
            if owners.remove(&above) {
                needed = line.read.len();
            }
        }
        line.read.truncate(needed);
        Ok(line.read)
    }
}

/// The workflows that one was forked from, the nearest first, read one by one.
pub(crate) struct ForkLine {
    of: RunId,
    /// As far as it was read. The last one was forked from none, or the store lacks it, once there is no next one.
    read: Vec<RunId>,
}

impl ForkLine {
    /// The line of that workflow, of which nothing is read.
    pub(crate) fn of(workflow: &RunId) -> Self {
        Self {
            of: workflow.clone(),
            read: Vec::new(),
        }
    }

    /// The last one that was read.
    pub(crate) fn last(&self) -> &RunId {
        self.read.last().unwrap_or(&self.of)
    }

    /// Reads on up to that workflow; whether it is one of the line, as far as the store has it.
    pub(crate) fn leads_to(
        &mut self,
        reader: &mut StoreReader,
        workflow: &RunId,
    ) -> Result<bool, ServiceError> {
        let mut leads = self.read.contains(workflow);
        while !leads && let Some(next) = self.read_next(reader)? {
            leads = next == *workflow;
        }
        Ok(leads)
    }

    fn read_next(&mut self, reader: &mut StoreReader) -> Result<Option<RunId>, ServiceError> {
        let last = self.last();
        if !reader.is_workflow(last)? {
            return Ok(None);
        }
        let parent = fork_parent(reader, last)?.map(|parent| parent.run_id);
        // What was changed may lead around.
        let next = parent.filter(|parent| *parent != self.of && !self.read.contains(parent));
        self.read.extend(next.clone());
        Ok(next)
    }
}
