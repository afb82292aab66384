//! The calls that wait in a workflow's child runs, and the remedies. Answers nothing.

use serde::Serialize;

use crate::drive::lost_calls::resume_notes_below;
use crate::error::ServiceError;
use crate::service::Service;
use crate::text::escape::line;
use crate::waiting_call::WaitingCall;
use monolith_core::contract::WorkflowOutcome;
use monolith_core::message::{CallSeq, Digest, RunId};

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct AwaitedCall {
    /// The run that waits.
    pub run_id: RunId,
    /// Number of the call.
    pub call: CallSeq,
    /// The tool.
    pub name: String,
    /// The hash that an answer is bound to.
    arguments_hash: Digest,
    /// The command that answers it, without the name of the program.
    #[serde(skip)]
    command: String,
}

impl AwaitedCall {
    /// The calls that wait in the runs below a workflow and of which an answer is taken.
    pub fn answerable(service: &Service, workflow: &RunId) -> Result<Vec<Self>, ServiceError> {
        let found = WaitingCall::answerable_below(service, workflow)?.into_iter();
        Ok(found.map(|found| Self::of(service, found)).collect())
    }

    fn of(service: &Service, (run_id, call): (RunId, WaitingCall)) -> Self {
        let command = call.answering("approve", &service.brief_name(run_id.as_str()));
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
    pub fn in_words(&self, service: &Service) -> String {
        let Self {
            call,
            command,
            name,
            run_id,
            ..
        } = self;
        let (name, approve) = (line(name), service.hint(command));
        format!("call {call} of run {run_id}, {name}, waits for an approval: {approve} answers it")
    }
}

/// Returns the next steps for a workflow that failed, or has no end and no process that drives it; empty for any other.
pub fn next_steps(
    service: &Service,
    workflow: &RunId,
    outcome: Option<WorkflowOutcome>,
) -> Result<String, ServiceError> {
    if let Some(outcome) = outcome {
        let name = service.brief_name(workflow.as_str());
        let why = service.hint(&format!("show {name} --why"));
        let failed = outcome.exit_code() != 0;
        return Ok(if failed {
            format!("\nWhy it ended so: {why}\n")
        } else {
            String::new()
        });
    }
    let Some(reader) = service.reader()? else {
        return Ok(String::new());
    };
    if !reader.is_open(workflow)? || reader.driver_of(workflow)?.is_some() {
        return Ok(String::new());
    }
    drop(reader);
    let mut lines = resume_notes_below(service, workflow)?;
    let waits = AwaitedCall::answerable(service, workflow)?;
    lines.extend(waits.iter().map(|call| call.in_words(service)));
    let name = service.brief_name(workflow.as_str());
    lines.push(format!(
        "Resume it: {}",
        service.hint(&format!("resume {name}"))
    ));
    Ok(format!("\n{}\n", lines.join("\n")))
}
