use tokio_util::sync::CancellationToken;

use super::DriverError;
use super::ancestry::by_target;
use super::bring_up::{Prepared, RunRequest, Start, prepare_after};
use crate::kernel::{ParentRun, RunStarted};
use crate::replay::ForkPoint;
use crate::session::Scrub;

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
        let (contract, counter) = (&prepared.contract, prepared.counter.as_ref());
        let opening = point.opening(&contract.system, task.as_deref(), counter);
        started.messages = Scrub(prepared.redactor.as_ref()).opening(opening, counter);
        if !point.counting.is_like(&contract.counting()) {
            RunStarted::recount(&mut started.messages, counter);
        }
        started.parent = Some(ParentRun {
            head: point.head,
            run_id: point.run_id,
        });
    }
    Ok(prepared)
}
