//! The step runs of workflows, by the entries that they name. Deletes nothing.

use std::collections::BTreeSet;

use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::message::RunId;
use crate::store::RunFilter;

/// These runs, each workflow followed by the runs of its steps and of their agents: without it nothing says what they are.
pub(in crate::cli) fn with_step_runs(app: &App, runs: Vec<RunId>) -> Result<Vec<RunId>, CliError> {
    let Some(mut reader) = app.reader()? else {
        return Ok(runs);
    };
    let rows = reader.list_runs(usize::MAX, RunFilter::All)?;
    let is_workflow = |run: &RunId| rows.iter().any(|row| row.run_id == *run && row.workflow);
    let mut all = Vec::with_capacity(runs.len());
    let mut seen = BTreeSet::new();
    for run in runs {
        let mut own = vec![run.clone()];
        if is_workflow(&run) {
            let prefix = format!("{run}.");
            for row in rows
                .iter()
                .filter(|row| row.run_id.as_str().starts_with(&prefix))
            {
                let lineage = reader.lineage(&row.run_id)?;
                if lineage.is_some_and(|found| found.parent.run_id == run) {
                    own.extend(reader.runs_below(&row.run_id)?);
                    own.push(row.run_id.clone());
                }
            }
        }
        all.extend(own.into_iter().filter(|run| seen.insert(run.clone())));
    }
    Ok(all)
}
