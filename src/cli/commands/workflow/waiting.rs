//! What the runs below a workflow wait for, and what can be done about it. Answers nothing.

use serde::Serialize;

use crate::context::app::App;
use monolith_core::contract::WorkflowOutcome;
use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_service::drive::lost_calls::resume_notes_below;
use monolith_service::error::ServiceError;
use monolith_service::text::escape::line;
use monolith_service::waiting_call::WaitingCall;

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
    /// The calls that wait in the runs below a workflow and of which an answer is taken.
    pub(super) fn answerable(app: &App, workflow: &RunId) -> Result<Vec<Self>, ServiceError> {
        let found = WaitingCall::answerable_below(app, workflow)?.into_iter();
        Ok(found.map(|found| Self::of(app, found)).collect())
    }

    fn of(app: &App, (run_id, call): (RunId, WaitingCall)) -> Self {
        let command = call.answering("approve", &app.brief_name(run_id.as_str()));
        let order = call.order;
        Self {
            arguments_hash: order.arguments_hash,
            call: order.call,
            command,
            name: order.invocation.name,
            run_id,
        }
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

/// What can be done about a workflow that failed, or has no end and no process that drives it; nothing of another one.
pub(super) fn next_steps(
    app: &App,
    workflow: &RunId,
    outcome: Option<WorkflowOutcome>,
) -> Result<String, ServiceError> {
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
    let mut lines = resume_notes_below(app, workflow)?;
    let waits = AwaitedCall::answerable(app, workflow)?;
    lines.extend(waits.iter().map(|call| call.in_words(app)));
    let name = app.brief_name(workflow.as_str());
    lines.push(format!(
        "Go on with it: {}",
        app.hint(&format!("resume {name}"))
    ));
    Ok(format!("\n{}\n", lines.join("\n")))
}
