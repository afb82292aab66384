//! What a workflow that was forked has of those that it was forked from: runs of steps, and the entries that began these.

use crate::cli::context::error::CliError;
use crate::cli::context::workflow_entries::{fork_parent, view_of};
use crate::message::RunId;
use crate::store::StoreReader;

/// How often a workflow may have been forked from a fork.
const MOST_FORKS: usize = 64;

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
        // A base that does not read proves nothing, and is needed for nothing.
        let mut line = line_of(reader, run_id).unwrap_or_default();
        let has = |workflow: &RunId| {
            let own = format!("{workflow}.");
            shared.iter().any(|step| step.as_str().starts_with(&own))
        };
        let needed = line.iter().rposition(has);
        line.truncate(needed.map_or(0, |last| last.saturating_add(1)));
        Ok(Some(Self {
            line,
            run_id: run_id.clone(),
            shared,
        }))
    }
}

/// The workflows that one was forked from, the nearest first: the last one was forked from none, or the store lacks it.
pub(in crate::cli) fn line_of(
    reader: &mut StoreReader,
    workflow: &RunId,
) -> Result<Vec<RunId>, CliError> {
    let (mut line, mut at) = (Vec::new(), workflow.clone());
    while line.len() < MOST_FORKS
        && reader.is_workflow(&at)?
        && let Some(parent) = fork_parent(reader, &at)?
    {
        at = parent.run_id;
        line.push(at.clone());
    }
    Ok(line)
}
