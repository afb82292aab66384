//! `monolith approvals`: looks through the open runs of the store for calls that wait for a person. Answers none.

use std::path::Path;

use serde::Serialize;

use super::args::ApprovalsArgs;
use super::render::listed;
use crate::cli::commands::list::{name_damaged, waits};
use crate::cli::context::app::App;
use crate::cli::context::approval::ApprovalStatus;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::waiting_call::WaitingCall;
use crate::cli::ui::escape::line;
use crate::message::{CallSeq, Digest, RunId};
use crate::store::{RunFilter, StoreReader};

/// A call that waits, as it is listed.
#[derive(Serialize)]
pub(super) struct Waiting {
    pub(super) run_id: RunId,
    pub(super) call: CallSeq,
    /// The tool.
    pub(super) tool: String,
    /// `approval`, or `question` where the tool's server asks for something.
    pub(super) asks_for: &'static str,
    /// The arguments, or the question, whole.
    pub(super) arguments: String,
    /// What an answer is bound to.
    pub(super) arguments_hash: Digest,
    /// Where the contract says that a person is asked; absent for a server's question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) asked_by: Option<String>,
    pub(super) contract_hash: Digest,
    pub(super) models: Vec<String>,
    /// Whose answers count; left out where everyone's does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) approvers: Vec<String>,
    /// When it was asked, at the earliest.
    pub(super) since_unix_ms: u64,
    /// The process that drives the run; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<u32>,
    /// The answer that was left, and that the run has not taken yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<&'static str>,
}

#[derive(Serialize)]
struct Inbox {
    approvals: Vec<Waiting>,
}

/// `monolith approvals`.
pub(in crate::cli) fn approvals(app: &App, args: &ApprovalsArgs) -> Result<Exit, CliError> {
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    if let (Some(index), Some(mut reader)) = (app.reader()?, app.reader()?) {
        index.each_row(RunFilter::Open, |row| {
            match row {
                Ok(row) if waits(&mut reader, &row) => runs.push(row.run_id),
                Ok(_) => {}
                Err(row) => damaged.push(row),
            }
            true
        })?;
    }
    let path = app.store_path()?;
    let mut found = Vec::new();
    // The newest run comes first in the store; who waits longest is answered first.
    for run_id in runs.into_iter().rev() {
        match waiting(&run_id, &path) {
            Ok(waiting) => found.extend(waiting),
            // One run that cannot be read hides no other.
            Err(fault) => {
                let text = line(&format!("run {run_id}: failed to {fault}"));
                app.screen.write_err(&format!("warning: {text}\n"));
            }
        }
    }
    found.sort_by_key(|one| one.since_unix_ms);
    let exit = name_damaged(app, &damaged);
    if args.json {
        app.screen.out_json(&Inbox { approvals: found })?;
    } else if found.is_empty() {
        let place = line(&path.display().to_string());
        app.screen
            .write_err(&format!("no call waits for a person in {place}\n"));
    } else {
        app.screen.out(&listed(app, &found))?;
    }
    Ok(exit)
}

/// The call that a run waits with, where it still does.
fn waiting(run_id: &RunId, path: &Path) -> Result<Option<Waiting>, CliError> {
    let reader = StoreReader::open(path)?;
    let driver = reader.driver_of(run_id)?;
    let Some(call) = WaitingCall::of(run_id, reader)? else {
        return Ok(None);
    };
    let order = call.order;
    let asked = (order.call, order.arguments_hash);
    let status = ApprovalStatus::of(&StoreReader::open(path)?, run_id, asked);
    let is_question = order.input.is_some();
    let asked_by = order
        .asked_by
        .map_or_else(|| "require_approval".to_owned(), |rule| rule.to_string());
    Ok(Some(Waiting {
        answer: status.answer(),
        approvers: call.contract.approvers.clone(),
        arguments: order.invocation.arguments.to_string(),
        arguments_hash: order.arguments_hash,
        asked_by: (!is_question).then_some(asked_by),
        asks_for: if is_question { "question" } else { "approval" },
        call: order.call,
        contract_hash: call.contract.contract_hash(),
        models: call.models,
        pid: driver.and_then(|driver| driver.pid),
        run_id: run_id.clone(),
        since_unix_ms: call.since_unix_ms,
        tool: order.invocation.name,
    }))
}
