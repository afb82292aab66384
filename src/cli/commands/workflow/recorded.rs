//! A recorded workflow: its result, and its replay. Writes nothing.

use serde::Serialize;

use crate::commands::verify;
use crate::context::app::App;
use monolith_core::agent::{Workflow, WorkflowFold};
use monolith_core::message::RunId;
use monolith_core::transcript::FirstBad;
use monolith_host::store::StoreError;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::workflow::ended::WorkflowResult;
use monolith_service::workflow::usage::use_of_steps;
use monolith_service::workflow::waiting::AwaitedCall;
use monolith_service::workflow_entries::WorkflowSource;

/// The first flaw of the evidence of a workflow, which may be in progress.
pub(super) fn flaw_of(app: &App, asked: &str) -> Result<Option<FirstBad>, ServiceError> {
    let trust = app.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(app.source(asked)?, true, &trust)?;
    Ok(report.first_bad)
}

/// What a stored workflow came to that has ended; `None` if it goes on.
pub(crate) fn recorded_result(
    app: &App,
    run_id: &RunId,
) -> Result<Option<WorkflowResult>, ServiceError> {
    let Ok(mut source) = WorkflowSource::of(app.run(run_id.as_str())?)? else {
        let asked = run_id.to_string();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let result = result_of(app, &mut source, run_id.as_str())?;
    Ok(result.is_ended().then_some(result))
}

/// What a workflow came to so far, once its evidence holds.
pub(super) fn result_of(
    app: &App,
    source: &mut WorkflowSource,
    asked: &str,
) -> Result<WorkflowResult, ServiceError> {
    if let Some(bad) = flaw_of(app, asked)? {
        let (asked, place) = (asked.to_owned(), verify::place(&bad));
        return Err(TranscriptFault::NotVerified { asked, place }.into());
    }
    let mut fold = WorkflowFold::new(source.definition()?);
    source.each_entry(|_, action, event| {
        // A difference is what a replay is for.
        drop(fold.take(action, event));
        Ok(())
    })?;
    let (mut view, head) = source.view()?;
    use_of_steps(&mut view, source.reader())?;
    let output = fold.workflow().filter(|_| view.outcome.is_some());
    let output = output.map(Workflow::output).unwrap_or_default();
    let run_id = source.run_id.clone();
    let waits_for = match source.reader() {
        Some(reader) if reader.is_open(&run_id)? => AwaitedCall::answerable(app, &run_id)?,
        _ => Vec::new(),
    };
    Ok(WorkflowResult::of(run_id, head, output, view).waiting_for(waits_for))
}

/// What a replay of a workflow found.
#[derive(Serialize)]
struct WorkflowReplay {
    same: bool,
    entries: u64,
    /// The entry and the member that differ, what the machine decides, and what is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<WorkflowDifference>,
}

#[derive(Serialize)]
struct WorkflowDifference {
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    field: String,
    expected: String,
    actual: String,
    /// Whether the evidence is bad, or the machine decides otherwise.
    attribution: &'static str,
}

/// `monolith replay` of a workflow: the recorded events through a fresh machine.
pub(crate) fn replay_workflow(
    app: &App,
    mut source: WorkflowSource,
    asked: &str,
    json: bool,
) -> Result<Exit, ServiceError> {
    let run_id = source.run_id.clone();
    let (mut entries, mut difference) = (0_u64, None);
    if let Some(bad) = flaw_of(app, asked)? {
        difference = Some(WorkflowDifference {
            seq: bad.seq,
            field: bad.field,
            expected: bad.expected,
            actual: bad.actual,
            attribution: "evidence",
        });
    } else {
        let mut fold = WorkflowFold::new(source.definition()?);
        source.each_entry(|_, action, event| {
            if difference.is_some() {
                return Ok(());
            }
            match fold.take(action, event) {
                Ok(()) => entries = entries.saturating_add(1),
                Err(fault) => {
                    difference = Some(WorkflowDifference {
                        seq: Some(fault.seq),
                        field: fault.field,
                        expected: fault.expected,
                        actual: fault.actual,
                        attribution: "workflow",
                    });
                }
            }
            Ok(())
        })?;
    }
    let exit = match &difference {
        None => Exit::OK,
        Some(difference) if difference.attribution == "evidence" => Exit::EVIDENCE,
        Some(_) => Exit::DIVERGED,
    };
    if json {
        app.screen.out_json(&WorkflowReplay {
            same: difference.is_none(),
            entries,
            first_difference: difference,
        })?;
    } else {
        let text = match difference {
            None => format!("replayed: {entries} entries of workflow {run_id}, all the same\n"),
            Some(found) => {
                let at = found
                    .seq
                    .map_or_else(String::new, |seq| format!("entry {seq}, "));
                let (expected, actual) = (line(&found.expected), line(&found.actual));
                format!(
                    "DIFFERS ({}): {at}{}: expected {expected}, got {actual}\n",
                    found.attribution, found.field
                )
            }
        };
        app.screen.out(&text)?;
    }
    Ok(exit)
}
