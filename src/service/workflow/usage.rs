//! What the step runs of a workflow used, those below them included. Reads the last entry of each alone.

use crate::error::ServiceError;
use monolith_core::agent::WorkflowView;
use monolith_core::view::TreeUsage;
use monolith_host::store::StoreReader;

/// Adds to the view what each step run used, those below it included, as far as the store has it.
pub fn use_of_steps(
    view: &mut WorkflowView,
    reader: Option<&mut StoreReader>,
) -> Result<(), ServiceError> {
    let Some(reader) = reader else {
        return Ok(());
    };
    let started = view.started.as_ref().map(|started| started.run_id.clone());
    let numbers: Vec<u64> = view.steps.iter().map(|step| step.number).collect();
    for number in numbers {
        let step = started.as_ref().map(|run| run.step(number));
        let Some(Ok(run_id)) = step else {
            continue;
        };
        let lineage = reader.lineage(&run_id)?;
        let is_its = |workflow| lineage.is_some_and(|found| found.is_of(workflow, None));
        if !started.as_ref().is_some_and(is_its) {
            continue;
        }
        let run = reader.read_run(&run_id)?;
        let last = run.row().length.saturating_sub(1);
        let last = run.starting_at(last).last().transpose()?;
        // What does not read back is for the verification of that run.
        if let Some(action) = last.and_then(|entry| entry.decode_action().ok()) {
            view.used_by(number, TreeUsage::of(&action.counters));
        }
    }
    Ok(())
}
