//! Where a run of the store comes from: the first run of its line, and the step of a workflow that it stands below.

use super::error::CliError;
use super::workflow_entries::view_of;
use crate::message::RunId;
use crate::store::StoreReader;
use crate::transcript::ParentFound;

/// How many generations are looked at; a longer line is none that people make.
const MOST_GENERATIONS: usize = 1_000;

/// The first run of the line that this one was forked or called along, itself where it was not; none where a run of the line is not in
/// the store.
pub(in crate::cli) fn first_of(
    reader: &StoreReader,
    run_id: &RunId,
) -> Result<Option<RunId>, CliError> {
    let mut first = run_id.clone();
    for _ in 0..MOST_GENERATIONS {
        match reader.lineage(&first)? {
            None => return Ok(Some(first)),
            Some(lineage) if lineage.found == ParentFound::NotHere => return Ok(None),
            Some(lineage) => first = lineage.parent.run_id,
        }
    }
    Ok(None)
}

/// The workflow and the step of it that the run is, or was called below: `review-notes:summary`. None elsewhere.
pub(in crate::cli) fn step_path_of(
    reader: &mut StoreReader,
    run_id: &RunId,
) -> Result<Option<String>, CliError> {
    let mut run = run_id.clone();
    for _ in 0..MOST_GENERATIONS {
        let Some(lineage) = reader.lineage(&run)? else {
            return Ok(None);
        };
        let parent = lineage.parent;
        if lineage.is_workflow {
            let id = reader.read_run(&parent.run_id)?.definition()?.id;
            let view = view_of(reader, &parent.run_id)?;
            let number = run.as_str().rsplit('.').next().unwrap_or_default();
            let mut steps = view.steps.iter();
            let step = steps.find(|step| step.number.to_string() == number);
            return Ok(step.map(|step| format!("{id}:{}", step.step)));
        }
        // What was forked stands by itself.
        if parent.call.is_none() {
            return Ok(None);
        }
        run = parent.run_id;
    }
    Ok(None)
}
