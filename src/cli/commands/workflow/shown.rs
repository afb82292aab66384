//! `monolith show` of a workflow, and `monolith replay` of a workflow or a work item: what of it is printed.

use serde::Serialize;

use super::graph::graph;
use super::reasons::why;
use crate::context::app::App;
use crate::ui::screen::Style;
use monolith_core::agent::{WorkflowAction, WorkflowEvent};
use monolith_core::message::{Digest, RunId};
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::verify::report::{own_report, place};
use monolith_service::work_entries::WorkSource;
use monolith_service::workflow::ended::use_of_steps;
use monolith_service::workflow::recorded::{WorkflowReplay, result_of};
use monolith_service::workflow::waiting::next_steps;
use monolith_service::workflow_entries::WorkflowSource;

/// The shown form of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkflowForm {
    /// Its steps with their states.
    Graph,
    /// Its result as a document.
    Json,
    /// Every entry as it is stored.
    Raw,
    /// One entry.
    Step(u64),
    /// Reasons for its end.
    Why,
}

/// `monolith show` of a workflow; the exit code where it was shown, which is 0 whatever it came to.
pub(crate) fn show_workflow(
    app: &App,
    mut source: WorkflowSource,
    asked: &str,
    form: WorkflowForm,
) -> Result<Exit, ServiceError> {
    if form == WorkflowForm::Json {
        app.screen.out_json(&result_of(app, &mut source, asked)?)?;
        return Ok(Exit::OK);
    }
    let flaw = own_report(app, asked)?.first_bad.map(|bad| place(&bad));
    let exit = match &flaw {
        None => Exit::OK,
        Some(_) => Exit::EVIDENCE,
    };
    if let Some(seq) = match form {
        WorkflowForm::Raw => Some(None),
        WorkflowForm::Step(seq) => Some(Some(seq)),
        _ => None,
    } {
        if let Some(place) = &flaw {
            // Stdout is for programs here.
            app.screen.write_err(&format!("NOT VERIFIED: {place}\n"));
        }
        entries(app, &mut source, seq)?;
        return Ok(exit);
    }
    let definition = source.definition()?;
    let (mut view, head) = source.view()?;
    use_of_steps(&mut view, source.reader())?;
    if form == WorkflowForm::Why {
        if let Some(place) = &flaw {
            let line = format!("NOT VERIFIED: {place}");
            let line = app.screen.paint_out(Style::Bad, &line);
            app.screen.out(&format!("{line}\n"))?;
        }
        app.screen
            .out(&why(app, &definition, &view, &mut source)?)?;
        return Ok(exit);
    }
    let verified = match flaw {
        None => "verified".to_owned(),
        Some(place) => format!("NOT VERIFIED: {place}"),
    };
    let text = graph(app, &source.run_id, &definition, &view, (head, &verified));
    app.screen.out(&text)?;
    if source.reader().is_some() && exit == Exit::OK {
        app.screen
            .out(&next_steps(app, &source.run_id, view.outcome)?)?;
    }
    Ok(exit)
}

/// `monolith replay` of a workflow: the recorded events through a fresh machine.
pub(crate) fn replay_workflow(
    app: &App,
    mut source: WorkflowSource,
    asked: &str,
    json: bool,
) -> Result<Exit, ServiceError> {
    let replay = WorkflowReplay::of(app, &mut source, asked)?;
    show_replay(app, &replay, ("workflow", &source.run_id), json)
}

/// `monolith replay` of a work item.
pub(crate) fn replay_item(
    app: &App,
    mut source: WorkSource,
    asked: &str,
    json: bool,
) -> Result<Exit, ServiceError> {
    let replay = WorkflowReplay::of_item(app, &mut source, asked)?;
    show_replay(app, &replay, ("work item", &source.run_id), json)
}

fn show_replay(
    app: &App,
    replay: &WorkflowReplay,
    (kind, run_id): (&str, &RunId),
    json: bool,
) -> Result<Exit, ServiceError> {
    if json {
        app.screen.out_json(replay)?;
        return Ok(replay.exit());
    }
    let text = match &replay.first_difference {
        None => {
            let entries = replay.entries;
            format!("replayed: {entries} entries of {kind} {run_id}, all the same\n")
        }
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
    Ok(replay.exit())
}

/// Every entry as it is stored, or the one that is asked for.
fn entries(app: &App, source: &mut WorkflowSource, only: Option<u64>) -> Result<(), ServiceError> {
    let mut last = None;
    let mut found = false;
    source.each_entry(|hash, action, event| {
        last = Some(action.seq);
        let entry = RawEntry {
            seq: action.seq,
            hash,
            action,
            event,
        };
        if only.is_none() {
            app.screen.out_json(&entry)?;
        } else if only == last {
            found = true;
            let text = serde_json::to_string_pretty(&entry).map_err(std::io::Error::from)?;
            app.screen.out_json_text(&format!("{text}\n"))?;
        }
        Ok(())
    })?;
    match only {
        Some(asked) if !found => Err(TranscriptFault::NoSuchEntry {
            asked,
            last: last.unwrap_or(0),
            run: source.run_id.to_string(),
        }
        .into()),
        _ => Ok(()),
    }
}

#[derive(Serialize)]
struct RawEntry<'e> {
    seq: u64,
    hash: Digest,
    action: &'e WorkflowAction,
    event: Option<&'e WorkflowEvent>,
}
