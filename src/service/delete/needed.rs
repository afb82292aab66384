//! The runs of the store that need a run which is to be deleted. Deletes nothing.

use std::collections::BTreeSet;

use crate::error::ServiceError;
use crate::forks::ForkedWorkflow;
#[cfg(unix)]
use crate::work::Reconciler;
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

/// A run that must stay.
pub(super) struct NeededRun {
    pub(super) run_id: RunId,
    pub(super) why: ServiceError,
}

impl NeededRun {
    fn new(run_id: &RunId, why: impl Into<ServiceError>) -> Self {
        Self {
            run_id: run_id.clone(),
            why: why.into(),
        }
    }
}

/// The runs of a store that others need: workflows which were forked from others, and unfinished items that reconcile others.
pub(super) struct NeededRuns {
    forks: Vec<NeedsOfFork>,
    #[cfg(unix)]
    reconcilers: Vec<Reconciler>,
}

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
        Ok(Self {
            forks: needs,
            #[cfg(unix)]
            reconcilers: Reconciler::all(reader)?,
        })
    }

    /// Returns one of these runs that must stay: an unfinished tree includes it, a fork has it as a step, or an unfinished item
    /// reconciles it. `None` if nothing that stays needs one.
    pub(super) fn needed(
        &self,
        reader: &StoreReader,
        runs: &[RunId],
    ) -> Result<Option<NeededRun>, ServiceError> {
        let doomed: BTreeSet<&RunId> = runs.iter().collect();
        let goes = |runs: &[RunId]| runs.iter().find(|run| doomed.contains(run)).cloned();
        for run_id in runs {
            // One whose own parent has ended is a part of the tree all the same.
            if let Some(root) = reader.open_above(run_id)?
                && !doomed.contains(&root)
            {
                let why = RemoveError::Below {
                    run_id: run_id.clone(),
                    root,
                };
                return Ok(Some(NeededRun::new(run_id, why)));
            }
        }
        for NeedsOfFork { below, fork, line } in &self.forks {
            if doomed.contains(fork) {
                continue;
            }
            let fork = fork.clone();
            if let Some(run_id) = goes(below) {
                let why = RemoveError::Forked {
                    fork,
                    run_id: run_id.clone(),
                };
                return Ok(Some(NeededRun::new(&run_id, why)));
            }
            if let Some(run_id) = goes(line) {
                let why = RemoveError::ForkedFrom {
                    fork,
                    run_id: run_id.clone(),
                };
                return Ok(Some(NeededRun::new(&run_id, why)));
            }
        }
        #[cfg(unix)]
        for reconciler in &self.reconcilers {
            if !doomed.contains(&reconciler.work_id)
                && let Some(run_id) = goes(&reconciler.reads)
            {
                return Ok(Some(NeededRun::new(&run_id, reconciler.needs(&run_id))));
            }
        }
        Ok(None)
    }
}
