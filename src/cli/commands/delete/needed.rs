//! What stays in the store and needs a run that is to be deleted. Deletes nothing.

use std::collections::BTreeSet;

use crate::cli::context::error::CliError;
use crate::cli::context::workflow_entries::{fork_parent, view_of};
use crate::message::RunId;
use crate::store::{RemoveError, RunFilter, StoreReader};

/// The workflows of a store that were forked from others, each with the runs of its steps that are those of others.
pub(super) struct Forks(Vec<(RunId, Vec<RunId>)>);

impl Forks {
    /// Reads them; of a workflow that is none, its first entry alone.
    pub(super) fn read(reader: &mut StoreReader) -> Result<Self, CliError> {
        let mut forks = Vec::new();
        // What does not read keeps nothing from being deleted.
        let rows = reader.list_rows(usize::MAX, RunFilter::All)?;
        for row in rows.into_iter().flatten().filter(|row| row.workflow) {
            let Ok(Some(_)) = fork_parent(reader, &row.run_id) else {
                continue;
            };
            let Ok(view) = view_of(reader, &row.run_id) else {
                continue;
            };
            let own = format!("{}.", row.run_id);
            let steps = view.steps.into_iter().filter_map(|step| step.run_id);
            let steps = steps.filter(|step| !step.as_str().starts_with(&own));
            forks.push((row.run_id, steps.collect()));
        }
        Ok(Self(forks))
    }

    /// Why one of these runs is to stay: a tree that is not at its end goes on with it, or a fork has it as a step. None where nothing
    /// that stays needs one.
    pub(super) fn needed(
        &self,
        reader: &StoreReader,
        runs: &[RunId],
    ) -> Result<Option<RemoveError>, CliError> {
        let doomed: BTreeSet<&RunId> = runs.iter().collect();
        for run_id in runs {
            let root = reader.goes_on_with(run_id)?;
            if root != *run_id && !doomed.contains(&root) {
                let run_id = run_id.clone();
                return Ok(Some(RemoveError::Below { run_id, root }));
            }
        }
        let mut forks = self.0.iter().filter(|(fork, _)| !doomed.contains(fork));
        let needed = forks.find_map(|(fork, steps)| {
            let run_id = steps.iter().find(|step| doomed.contains(step))?.clone();
            let fork = fork.clone();
            Some(RemoveError::Forked { fork, run_id })
        });
        Ok(needed)
    }
}
