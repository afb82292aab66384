//! What stays in the store and needs a run that is to be deleted. Deletes nothing.

use std::collections::BTreeSet;

use crate::cli::context::error::CliError;
use crate::cli::context::workflow_entries::{fork_parent, view_of};
use crate::message::RunId;
use crate::store::{RemoveError, RunFilter, StoreReader};

/// How often a workflow may have been forked from a fork.
const MOST_FORKS: usize = 64;

/// A workflow that was forked from another one.
struct Fork {
    /// The workflows that it was forked from, up to those whose steps it has.
    line: Vec<RunId>,
    run_id: RunId,
    /// The runs of its steps that are those of others, and what is below them.
    shared: Vec<RunId>,
}

/// The workflows of a store that were forked from others.
pub(super) struct Forks(Vec<Fork>);

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
            let mut shared: Vec<RunId> = steps.collect();
            let line = line_to(reader, &row.run_id, &shared);
            for step in shared.clone() {
                shared.extend(reader.runs_below(&step).unwrap_or_default());
            }
            forks.push(Fork {
                line,
                run_id: row.run_id,
                shared,
            });
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
            // One whose own parent has ended is a part of the tree all the same.
            if let Some(root) = reader.open_above(run_id)?
                && !doomed.contains(&root)
            {
                let run_id = run_id.clone();
                return Ok(Some(RemoveError::Below { run_id, root }));
            }
        }
        let forks = self.0.iter().filter(|fork| !doomed.contains(&fork.run_id));
        for fork in forks {
            let of = fork.run_id.clone();
            let goes = |runs: &[RunId]| runs.iter().find(|run| doomed.contains(run)).cloned();
            if let Some(run_id) = goes(&fork.shared) {
                return Ok(Some(RemoveError::Forked { fork: of, run_id }));
            }
            if let Some(run_id) = goes(&fork.line) {
                return Ok(Some(RemoveError::ForkedFrom { fork: of, run_id }));
            }
        }
        Ok(None)
    }
}

/// The workflows that one was forked from, as far as the store has them, up to the last one that has one of these steps.
fn line_to(reader: &mut StoreReader, fork: &RunId, shared: &[RunId]) -> Vec<RunId> {
    let has = |workflow: &RunId| {
        let own = format!("{workflow}.");
        shared.iter().any(|step| step.as_str().starts_with(&own))
    };
    let (mut line, mut needed, mut at) = (Vec::new(), 0, fork.clone());
    while line.len() < MOST_FORKS
        && let Ok(Some(parent)) = fork_parent(reader, &at)
    {
        at = parent.run_id;
        line.push(at.clone());
        if has(&at) {
            needed = line.len();
        }
    }
    line.truncate(needed);
    line
}
