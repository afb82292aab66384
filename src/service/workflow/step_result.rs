//! The result of a step, read from its sealed run. Does not know the workflow's record of it.

use crate::error::ServiceError;
use crate::source::Source;
use crate::workflow::tool_result::ToolResult;
use monolith_core::agent::{MAX_OUTPUT_BYTES, MAX_REASON_BYTES, StepFailure, StepRun};
use monolith_core::contract::Label;
use monolith_core::kernel::OutcomeCode;
use monolith_core::message::{RunId, char_prefix};
use monolith_host::driver::DriverError;
use monolith_host::store::StoreReader;
use monolith_host::telemetry::{AgentResult, denied_calls, failed_calls};

/// Reads the result of a step's run: for a tool's call (`is_call`) its whole result, else its report.
///
/// # Errors
/// [`DriverError::NothingRecorded`] where it is not sealed, and the faults of the store.
pub(crate) fn step_run(
    reader: &StoreReader,
    is_call: bool,
    run_id: &RunId,
) -> Result<StepRun, ServiceError> {
    let (run, view) = Source::Run(run_id.clone(), reader.again()?).fold(None)?;
    let result = AgentResult::of_run(&run, &view);
    let (Some(outcome), Some(head)) = (result.outcome, result.head) else {
        let run_id = run_id.clone();
        return Err(DriverError::NothingRecorded { run_id }.into());
    };
    let output = result.report_text().to_owned();
    let mut labels = run.seen_labels();
    if is_call {
        // The output is the whole result, also where the context had no room for it.
        let calls = view.calls().values();
        labels.extend(calls.flat_map(|call| run.contract().labels_of(&call.name)));
    }
    // The result of a call that reported an error is one, too.
    let is_result = outcome.class.is_success() || outcome.code == OutcomeCode::ProofNotSucceeded;
    let (failure, output) = if is_call && is_result && view.counters().executed > 0 {
        let ToolResult { failure, text } = ToolResult::of(&mut reader.again()?, run_id, &view)?;
        (failure, text)
    } else if let Some(why) = &result.error {
        // The call says more than what its run came to.
        let said = || failed_calls(&view).or_else(|| denied_calls(&view));
        let call = is_call.then(said).flatten();
        let why = call.unwrap_or_else(|| why.clone());
        (Some((StepFailure::Outcome, why)), output)
    } else if output.len() > MAX_OUTPUT_BYTES {
        let reason = format!(
            "its report has {} bytes; a step may come to at most {MAX_OUTPUT_BYTES}",
            output.len()
        );
        (Some((StepFailure::OutputSize, reason)), String::new())
    } else {
        (None, output)
    };
    let (failure, reason) = failure.unzip();
    Ok(StepRun {
        failure,
        head,
        labels: Some(Label::recorded(labels)),
        outcome,
        output,
        reason: reason.map(|reason| char_prefix(&reason, MAX_REASON_BYTES).to_owned()),
        run_id: run_id.clone(),
    })
}
