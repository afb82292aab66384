//! The whole result of the one call of a tool step. No model has read it, so nothing of it is cut.

use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use monolith_core::agent::{MAX_OUTPUT_BYTES, StepFailure};
use monolith_core::kernel::{EntryKind, EventKind};
use monolith_core::message::{RunId, ToolEnvelope, ToolOutcome};
use monolith_core::view::{Activity, Call, RunView};
use monolith_host::store::{RunReader, StoreReader};
use monolith_host::telemetry::failed_calls;

/// The end of a reason if the result cannot be checked.
pub(crate) const ERASED: &str = ": its result was erased";

/// The result of a tool step.
pub(super) struct ToolResult {
    /// The kind and the words of the step's failure; `None` if it has completed.
    pub(super) failure: Option<(StepFailure, String)>,
    pub(super) text: String,
}

impl ToolResult {
    /// Of a run that ended well.
    pub(super) fn of(
        reader: &mut StoreReader,
        run_id: &RunId,
        view: &RunView,
    ) -> Result<Self, ServiceError> {
        let mut stored = reader.read_run(run_id)?;
        let Some((call, envelope)) = last_call(view).zip(last_envelope(&mut stored)?) else {
            let reason = failed_calls(view);
            let reason = reason.unwrap_or_else(|| "its tool was not called".to_owned());
            return Ok(Self::failed(StepFailure::Tool, reason, String::new()));
        };
        let text = match envelope.full {
            None => envelope.text(),
            Some(full) => {
                let Some(bytes) = stored.blob(full)? else {
                    let reason = format!("{}{ERASED}", call.name);
                    return Ok(Self::failed(StepFailure::Tool, reason, String::new()));
                };
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        let last = call.executions.last();
        if last.is_none_or(|execution| !execution.is_ok()) {
            let reason = failed_calls(view);
            let reason = reason.unwrap_or_else(|| format!("{}: failed", call.name));
            return Ok(Self::failed(StepFailure::Tool, reason, text));
        }
        let bytes = envelope.bytes_out.max(text.len() as u64);
        if bytes > MAX_OUTPUT_BYTES as u64 {
            let reason = format!(
                "{}: the result has {bytes} bytes; a step may come to at most {MAX_OUTPUT_BYTES}",
                call.name
            );
            return Ok(Self::failed(StepFailure::OutputSize, reason, String::new()));
        }
        if last.is_some_and(|execution| execution.dropped.is_some()) {
            let reason = format!("{}: its result does not fit the context", call.name);
            return Ok(Self::failed(StepFailure::Tool, reason, String::new()));
        }
        let failure = None;
        Ok(Self { failure, text })
    }

    const fn failed(failure: StepFailure, reason: String, text: String) -> Self {
        let failure = Some((failure, reason));
        Self { failure, text }
    }
}

/// The call that was started last.
fn last_call(view: &RunView) -> Option<&Call> {
    let calls = view.activities().iter().rev();
    calls.into_iter().find_map(|activity| match activity {
        Activity::Execution(call, _) => view.call(*call),
        Activity::Request(_) | Activity::Report(_) => None,
    })
}

/// The last result that counted.
fn last_envelope(stored: &mut RunReader<'_>) -> Result<Option<ToolEnvelope>, ServiceError> {
    let mut last = None;
    for entry in stored.by_ref() {
        let entry = entry?;
        let refuse = |flaw| TranscriptFault::Entry {
            seq: entry.seq,
            flaw,
        };
        let event = entry.decode_event().map_err(refuse)?;
        if let Some(EventKind::ToolReturned(returned)) = event.map(|event| event.event)
            && let ToolOutcome::Returned(envelope) = returned.outcome
            && entry.decode_action().map_err(refuse)?.kind != EntryKind::Ignored
        {
            last = Some(envelope);
        }
    }
    Ok(last)
}
