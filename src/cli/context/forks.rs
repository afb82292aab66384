//! What a workflow that was forked has of those that it was forked from: runs of steps, and the entries that began these.

use crate::cli::context::error::CliError;
use crate::cli::context::workflow_entries::{fork_parent, view_of};
use crate::message::RunId;
use crate::store::StoreReader;

/// How often a workflow may have been forked from a fork.
pub(in crate::cli) const MOST_FORKS: usize = 64;

/// A workflow that was forked from another one.
pub(in crate::cli) struct Fork {
    /// The workflows that it was forked from, up to the last one whose steps it has; the store may lack some.
    pub(in crate::cli) line: Vec<RunId>,
    pub(in crate::cli) run_id: RunId,
    /// The runs of its steps that are those of others, in the order of the steps.
    pub(in crate::cli) shared: Vec<RunId>,
}

impl Fork {
    /// Reads one; none of a run, or of a workflow that was not forked. Of that its first entry alone is read.
    pub(in crate::cli) fn read(
        reader: &mut StoreReader,
        run_id: &RunId,
    ) -> Result<Option<Self>, CliError> {
        if !reader.is_workflow(run_id)? || fork_parent(reader, run_id)?.is_none() {
            return Ok(None);
        }
        let own = format!("{run_id}.");
        let steps = view_of(reader, run_id)?.steps.into_iter();
        let shared: Vec<RunId> = steps
            .filter_map(|step| step.run_id)
            .filter(|step| !step.as_str().starts_with(&own))
            .collect();
        Ok(Some(Self {
            line: line_to(reader, run_id, &shared),
            run_id: run_id.clone(),
            shared,
        }))
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
