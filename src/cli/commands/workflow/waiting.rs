//! What the runs below a workflow wait for, or have left undecided: calls that need a person, and calls whose process died. Answers none.

use serde::Serialize;

use crate::cli::commands::drive::calls_below;
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::line;
use crate::contract::WorkflowOutcome;
use crate::message::{CallSeq, Digest, RunId};

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AwaitedCall {
    pub(super) run_id: RunId,
    pub(super) call: CallSeq,
    /// The tool.
    pub(super) name: String,
    /// What an answer is bound to.
    arguments_hash: Digest,
    /// The command that answers it, without the name of the program.
    #[serde(skip)]
    command: String,
}

impl AwaitedCall {
    /// The calls that wait in the runs below a workflow, but for those that are refused where no person answers at once.
    pub(super) fn below(app: &App, workflow: &RunId) -> Result<Vec<Self>, CliError> {
        let found = calls_below(app, workflow)?.into_iter();
        let found = found.map(|(run_id, call)| {
            let command = call.answering("approve", &app.brief_name(run_id.as_str()));
            let order = call.order;
            Self {
                arguments_hash: order.arguments_hash,
                call: order.call,
                command,
                name: order.invocation.name,
                run_id,
            }
        });
        Ok(found.collect())
    }

    /// The call, its run, and what answers it.
    pub(super) fn in_words(&self, app: &App) -> String {
        let Self {
            call,
            command,
            name,
            run_id,
            ..
        } = self;
        let (name, approve) = (line(name), app.hint(command));
        format!("call {call} of run {run_id}, {name}, waits for an approval: {approve} answers it")
    }
}

/// The calls that were under way when the process of a workflow ended: whether they acted is not known.
pub(super) fn undecided(app: &App, workflow: &RunId) -> Result<Vec<String>, CliError> {
    let Some(mut reader) = app.reader()? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for run_id in reader.runs_below(workflow)? {
        if !reader.is_open(&run_id)? {
            continue;
        }
        let Some(own) = app.reader()? else { continue };
        let view = Source::Run(run_id.clone(), own).each_step(|_, _, _| Ok(()))?;
        // The run of an agent goes on by itself.
        let running = view.calls().iter().filter(|(_, call)| {
            call.is_running() && !view.contract().agents.contains_key(&call.name)
        });
        found.extend(running.map(|(seq, call)| {
            let name = line(&call.name);
            format!(
                "call {seq} of run {run_id}, {name}, was under way when its process ended: whether it was executed is not known"
            )
        }));
    }
    Ok(found)
}

/// What can be done about a workflow that failed, or has no end and no process that drives it; nothing of another one.
pub(super) fn next_steps(
    app: &App,
    workflow: &RunId,
    outcome: Option<WorkflowOutcome>,
) -> Result<String, CliError> {
    if let Some(outcome) = outcome {
        let name = app.brief_name(workflow.as_str());
        let why = app.hint(&format!("show {name} --why"));
        let failed = outcome.exit_code() != 0;
        return Ok(if failed {
            format!("\nWhy it ended so: {why}\n")
        } else {
            String::new()
        });
    }
    let Some(reader) = app.reader()? else {
        return Ok(String::new());
    };
    if !reader.is_open(workflow)? || reader.driver_of(workflow)?.is_some() {
        return Ok(String::new());
    }
    drop(reader);
    let mut lines = undecided(app, workflow)?;
    let waits = AwaitedCall::below(app, workflow)?;
    lines.extend(waits.iter().map(|call| call.in_words(app)));
    let name = app.brief_name(workflow.as_str());
    lines.push(format!(
        "Go on with it: {}",
        app.hint(&format!("resume {name}"))
    ));
    Ok(format!("\n{}\n", lines.join("\n")))
}
