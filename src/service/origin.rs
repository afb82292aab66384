//! The origin of a run of the store: the first run of its line, and the workflow step that it is below.

use crate::error::ServiceError;
use crate::workflow_entries::view_of;
use monolith_core::message::RunId;
use monolith_core::transcript::ParentFound;
use monolith_host::store::StoreReader;

/// The first run of the line that this one was forked or called along, itself where it was not; `None` if a run of the line is not in
/// the store.
pub(crate) fn first_of(
    reader: &StoreReader,
    run_id: &RunId,
) -> Result<Option<RunId>, ServiceError> {
    let mut first = run_id.clone();
    for above in reader.ancestors(run_id) {
        let (_, lineage) = above?;
        if lineage.found == ParentFound::NotHere {
            return Ok(None);
        }
        first = lineage.parent.run_id;
    }
    // A line that is a circle has no first one.
    Ok(reader.lineage(&first)?.is_none().then_some(first))
}

/// The workflow and the step of it that the run is, or was called below: `review-notes:summary`. None elsewhere.
pub fn step_path_of(
    reader: &mut StoreReader,
    run_id: &RunId,
) -> Result<Option<String>, ServiceError> {
    // What was forked stands by itself.
    let mut line = reader.ancestors(run_id);
    let first = line.find(|above| match above {
        Ok((_, lineage)) => lineage.is_workflow() || lineage.parent.call.is_none(),
        Err(_) => true,
    });
    drop(line);
    let Some((run, lineage)) = first.transpose()? else {
        return Ok(None);
    };
    if !lineage.is_workflow() {
        return Ok(None);
    }
    let workflow = lineage.parent.run_id;
    let id = reader.read_run(&workflow)?.definition()?.id;
    let view = view_of(reader, &workflow)?;
    let step = view.step_of(run.as_str());
    Ok(step.map(|step| format!("{id}:{}", step.step)))
}
