use tokio_util::sync::CancellationToken;

use super::DriverError;
use super::ancestry::by_target;
use super::bring_up::{Prepared, RunRequest, Start, prepare_after};
use crate::kernel::ParentRun;
use crate::replay::ForkPoint;

/// Brings up a run that begins with the conversation of another one. It has budgets of its own, its counters begin at zero, and
/// no proof of the other counts for it. `task` is what it is told beside the conversation; scripts are played on.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run.
pub(crate) async fn prepare_fork(
    point: ForkPoint,
    task: Option<String>,
    mut request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    if task.as_ref().is_some_and(|task| task.trim().is_empty()) {
        return Err(DriverError::NoTask);
    }
    request.spec.task = point.intent_with(task.as_deref());
    let answered = by_target(&request.spec.targets, point.answered.clone());
    let mut prepared = prepare_after(request, &answered, cancel).await?;
    if let Start::New { started, .. } = &mut prepared.start {
        let opening = point.opening(
            &prepared.contract.system,
            task.as_deref(),
            prepared.counter.as_ref(),
        );
        started.messages = prepared.redactor.clean_opening(opening);
        started.parent = Some(ParentRun {
            head: point.head,
            run_id: point.run_id,
        });
    }
    Ok(prepared)
}
