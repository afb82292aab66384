//! The runs of the store that need a run which is to be deleted. Deletes nothing.

use std::collections::BTreeSet;

use crate::error::ServiceError;
use crate::forks::ForkedWorkflow;
use monolith_core::message::RunId;
use monolith_host::store::{RemoveError, RunFilter, RunRow, StoreReader};

/// The needs of a forked workflow.
struct NeedsOfFork {
    /// The runs of its steps that are those of others, and what is below them.
    below: Vec<RunId>,
    fork: RunId,
    /// The workflows that it was forked from, as far as it has steps of theirs.
    line: Vec<RunId>,
}

/// The runs of a store that workflows need which were forked from others.
pub(super) struct NeededRuns(Vec<NeedsOfFork>);

impl NeededRuns {
    /// Reads them; of a workflow that is no fork, its first entry alone.
    pub(super) fn read(reader: &mut StoreReader) -> Result<Self, ServiceError> {
        let mut needs = Vec::new();
        // What does not read keeps nothing from being deleted.
        let rows = reader.list_rows(usize::MAX, RunFilter::All)?;
        for row in rows.into_iter().flatten().filter(RunRow::is_workflow) {
            let Ok(Some(fork)) = ForkedWorkflow::read(reader, &row.run_id) else {
                continue;
            };
            let mut below = fork.shared.clone();
            for step in &fork.shared {
                below.extend(reader.runs_below(step).unwrap_or_default());
            }
            needs.push(NeedsOfFork {
                below,
                line: fork.line(reader).unwrap_or_default(),
                fork: fork.run_id,
            });
        }
        Ok(Self(needs))
    }

    /// Returns the reason why one of these runs must stay: an unfinished tree includes it, or a fork has it as a step. `None`
    /// if nothing that stays needs one.
    pub(super) fn needed(
        &self,
        reader: &StoreReader,
        runs: &[RunId],
    ) -> Result<Option<RemoveError>, ServiceError> {
        let doomed: BTreeSet<&RunId> = runs.iter().collect();
        for run_id in runs {
            // One whose own parent has ended is a part of the tree all the same.
            if let Some(root) = reader.open_above(run_id)?
                && !doomed.contains(&root)
            {
                let run_id = run_id.clone();
                return Ok(Some(RemoveError::Below { run_id, root }));
            }
        }
        for NeedsOfFork { below, fork, line } in &self.0 {
            if doomed.contains(fork) {
                continue;
            }
            let fork = fork.clone();
            let goes = |runs: &[RunId]| runs.iter().find(|run| doomed.contains(run)).cloned();
            if let Some(run_id) = goes(below) {
                return Ok(Some(RemoveError::Forked { fork, run_id }));
            }
            if let Some(run_id) = goes(line) {
                return Ok(Some(RemoveError::ForkedFrom { fork, run_id }));
            }
        }
        Ok(None)
    }
}
