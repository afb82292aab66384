//! A call that waits for a person, as the inbox has it. Answers none.

use std::path::Path;

use serde::Serialize;

use monolith_core::kernel::CallOrder;
use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_host::store::StoreReader;
use monolith_service::approval::ApprovalStatus;
use monolith_service::error::ServiceError;
use monolith_service::waiting_call::WaitingCall;

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
    /// What waits, for the command that answers it.
    #[serde(skip)]
    pub(super) order: CallOrder,
    /// The answer that was left, and that the run has not taken yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<&'static str>,
}

impl Waiting {
    /// The call that a run waits with, where it still does.
    pub(super) fn of(run_id: &RunId, path: &Path) -> Result<Option<Self>, ServiceError> {
        let reader = StoreReader::open(path)?;
        let driver = reader.driver_of(run_id)?;
        let Some(call) = WaitingCall::of(run_id, reader)? else {
            return Ok(None);
        };
        let order = call.order.clone();
        let asked = (order.call, order.arguments_hash);
        let status = ApprovalStatus::of(&StoreReader::open(path)?, run_id, asked);
        let is_question = order.input.is_some();
        let asked_by = order
            .asked_by
            .map_or_else(|| "require_approval".to_owned(), |rule| rule.to_string());
        Ok(Some(Self {
            answer: status.answer(),
            approvers: call.contract.approvers.clone(),
            arguments: order.invocation.arguments.to_string(),
            arguments_hash: order.arguments_hash,
            asked_by: (!is_question).then_some(asked_by),
            asks_for: if is_question { "question" } else { "approval" },
            call: order.call,
            order: call.order,
            contract_hash: call.contract.contract_hash(),
            models: call.models,
            pid: driver.and_then(|driver| driver.pid),
            run_id: run_id.clone(),
            since_unix_ms: call.since_unix_ms,
            tool: order.invocation.name,
        }))
    }
}
