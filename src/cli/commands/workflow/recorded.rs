//! A recorded workflow: its view, its recorded result, and its replay. Writes nothing.

use std::sync::Arc;

use serde::Serialize;

use super::ended::WorkflowResult;
use super::graph::graph;
use crate::agent::{WorkflowAction, WorkflowEvent, WorkflowFold, WorkflowView};
use crate::cli::commands::verify;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, TranscriptFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::line;
use crate::message::{Digest, RunId};
use crate::store::{StoreError, StoreReader};
use crate::transcript::{FirstBad, Flaw};

/// The view of a stored workflow, and the hash of its last entry.
pub(super) fn view_of(
    reader: &mut StoreReader,
    run_id: &RunId,
) -> Result<(WorkflowView, Digest), CliError> {
    let mut view = WorkflowView::default();
    let mut head = Digest::ZERO;
    each(reader, run_id, |hash, action, event| {
        view.take(action, event);
        head = hash;
        Ok(())
    })?;
    Ok((view, head))
}

pub(super) fn each(
    reader: &mut StoreReader,
    run_id: &RunId,
    mut take: impl FnMut(Digest, &WorkflowAction, Option<&WorkflowEvent>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut run = reader.read_run(run_id)?;
    while let Some(entry) = run.next_of_workflow() {
        let entry = entry?;
        let refuse = |flaw: Flaw| TranscriptFault::Entry {
            seq: entry.seq,
            flaw,
        };
        let action: WorkflowAction = entry.decode_action().map_err(refuse)?;
        let event: Option<WorkflowEvent> = entry.decode_event().map_err(refuse)?;
        take(entry.hash, &action, event.as_ref())?;
    }
    Ok(())
}

/// The first flaw of the evidence of a workflow, which may be in progress.
fn flaw_of(app: &App, run_id: &RunId) -> Result<Option<FirstBad>, CliError> {
    let trust = app.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(app.source(run_id.as_str())?, true, &trust)?;
    Ok(report.first_bad)
}

/// What a workflow came to that has ended; none where it goes on.
pub(super) fn recorded_result(
    app: &App,
    run_id: &RunId,
) -> Result<Option<WorkflowResult>, CliError> {
    let Some(mut reader) = app.reader()? else {
        let asked = run_id.to_string();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    if reader.read_run(run_id)?.row().outcome.is_none() {
        return Ok(None);
    }
    if let Some(bad) = flaw_of(app, run_id)? {
        let (asked, place) = (run_id.to_string(), verify::place(&bad));
        return Err(TranscriptFault::NotVerified { asked, place }.into());
    }
    Ok(Some(result_of(&mut reader, run_id)?))
}

/// What a workflow came to, as far as its entries go.
fn result_of(reader: &mut StoreReader, run_id: &RunId) -> Result<WorkflowResult, CliError> {
    let definition = reader.read_run(run_id)?.definition()?;
    let mut fold = WorkflowFold::new(Arc::new(definition));
    let (mut view, mut head) = (WorkflowView::default(), Digest::ZERO);
    each(reader, run_id, |hash, action, event| {
        // A difference is what a replay is for.
        drop(fold.take(action, event));
        view.take(action, event);
        head = hash;
        Ok(())
    })?;
    let over = fold
        .workflow()
        .filter(|workflow| workflow.outcome().is_some());
    let output = over.map(crate::agent::Workflow::output);
    let output = output.unwrap_or_default();
    Ok(WorkflowResult::of(run_id.clone(), head, output, view))
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
pub(in crate::cli) fn replay_workflow(
    app: &App,
    run_id: &RunId,
    mut reader: StoreReader,
    json: bool,
) -> Result<Exit, CliError> {
    let (mut entries, mut difference) = (0_u64, None);
    if let Some(bad) = flaw_of(app, run_id)? {
        difference = Some(WorkflowDifference {
            seq: bad.seq,
            field: bad.field,
            expected: bad.expected,
            actual: bad.actual,
            attribution: "evidence",
        });
    } else {
        let definition = reader.read_run(run_id)?.definition()?;
        let mut fold = WorkflowFold::new(Arc::new(definition));
        each(&mut reader, run_id, |_, action, event| {
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

/// `monolith show` of a workflow: its graph, or its result as a document.
pub(in crate::cli) fn show_workflow(
    app: &App,
    run_id: &RunId,
    mut reader: StoreReader,
    (json, raw, why): (bool, bool, bool),
) -> Result<Exit, CliError> {
    let flaw = flaw_of(app, run_id)?;
    if why {
        let (view, _) = view_of(&mut reader, run_id)?;
        app.screen.out(&reasons(app, run_id, &view))?;
        return Ok(if flaw.is_some() {
            Exit::EVIDENCE
        } else {
            Exit::OK
        });
    }
    if raw {
        return raw_entries(app, run_id, &mut reader, flaw.as_ref());
    }
    if json {
        if let Some(bad) = &flaw {
            let (asked, place) = (run_id.to_string(), verify::place(bad));
            return Err(TranscriptFault::NotVerified { asked, place }.into());
        }
        app.screen.out_json(&result_of(&mut reader, run_id)?)?;
        return Ok(Exit::OK);
    }
    let definition = reader.read_run(run_id)?.definition()?;
    let (view, head) = view_of(&mut reader, run_id)?;
    let verified = match &flaw {
        None => "verified".to_owned(),
        Some(bad) => format!("NOT VERIFIED: {}", verify::place(bad)),
    };
    let text = graph(app, run_id, &definition, &view, (head, &verified));
    app.screen.out(&text)?;
    Ok(if flaw.is_some() {
        Exit::EVIDENCE
    } else {
        Exit::OK
    })
}

/// Why a workflow ended as it did: each step that failed, with the command that says more of its run.
fn reasons(app: &App, run_id: &RunId, view: &WorkflowView) -> String {
    let outcome = match view.outcome {
        Some(outcome) => outcome.to_string(),
        None => "no end yet".to_owned(),
    };
    let mut out = format!("workflow {run_id}: {outcome}\n");
    for step in view.steps.iter().filter(|step| step.failed()) {
        let (state, place) = (step.state.as_str(), line(&step.place));
        let more = step.run_id.as_ref();
        let more = more.map(|run| format!("\n    {}", app.hint(&format!("show {run} --why"))));
        let more = more.unwrap_or_default();
        out.push_str(&format!("  {place} {state}: {}{more}\n", step.why()));
    }
    out
}

/// Every entry as it is stored.
fn raw_entries(
    app: &App,
    run_id: &RunId,
    reader: &mut StoreReader,
    flaw: Option<&FirstBad>,
) -> Result<Exit, CliError> {
    if let Some(bad) = flaw {
        let place = verify::place(bad);
        app.screen.write_err(&format!("NOT VERIFIED: {place}\n"));
    }
    each(reader, run_id, |hash, action, event| {
        app.screen.out_json(&RawEntry {
            seq: action.seq,
            hash,
            action,
            event,
        })?;
        Ok(())
    })?;
    Ok(if flaw.is_some() {
        Exit::EVIDENCE
    } else {
        Exit::OK
    })
}

#[derive(Serialize)]
struct RawEntry<'e> {
    seq: u64,
    hash: Digest,
    action: &'e WorkflowAction,
    event: Option<&'e WorkflowEvent>,
}

/// Whether a source is a stored workflow, and its parts then.
pub(in crate::cli) fn as_workflow(
    source: Source,
) -> Result<Result<(RunId, StoreReader), Source>, CliError> {
    match source {
        Source::Run(run_id, mut reader) => {
            if reader.read_run(&run_id)?.row().workflow {
                Ok(Ok((run_id, reader)))
            } else {
                Ok(Err(Source::Run(run_id, reader)))
            }
        }
        file @ Source::File(_) => Ok(Err(file)),
    }
}
