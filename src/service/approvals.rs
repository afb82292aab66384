//! The approval inbox: the calls of all runs of the store that wait for a person. Answers none.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::approval::ApprovalStatus;
use crate::error::ServiceError;
use crate::list::found::waiting_runs;
use crate::service::Service;
use crate::waiting_call::WaitingCall;
use monolith_core::kernel::CallOrder;
use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_host::store::{DamagedRow, StoreReader};

/// The calls that wait, longest wait first.
#[derive(Debug, Serialize)]
pub struct Inbox {
    /// Calls that wait.
    pub approvals: Vec<WaitingApproval>,
    /// Rows of the store that cannot be read.
    #[serde(skip)]
    pub damaged: Vec<DamagedRow>,
    /// Store that was read.
    #[serde(skip)]
    pub store: PathBuf,
    /// Runs that cannot be read.
    #[serde(skip)]
    pub unread: Vec<(RunId, ServiceError)>,
}

/// Reads the approval inbox.
///
/// # Errors
///
/// The store cannot be read. A run that cannot be read hides no other.
pub fn approvals(service: &Service) -> Result<Inbox, ServiceError> {
    let (runs, damaged) = waiting_runs(service)?;
    let store = service.store_path()?;
    let (mut approvals, mut unread) = (Vec::new(), Vec::new());
    // The newest run comes first in the store; the longest wait is answered first.
    for run_id in runs.into_iter().rev() {
        match WaitingApproval::read(&run_id, &store) {
            Ok(waiting) => approvals.extend(waiting),
            Err(fault) => unread.push((run_id, fault)),
        }
    }
    approvals.sort_by_key(|one| one.since_unix_ms);
    Ok(Inbox {
        approvals,
        damaged,
        store,
        unread,
    })
}

/// A call that waits, as it is listed.
#[derive(Debug, Serialize)]
pub struct WaitingApproval {
    /// Name of the run.
    pub run_id: RunId,
    /// Number of the call.
    pub call: CallSeq,
    /// Name of the tool.
    pub tool: String,
    /// `approval`, or `question` where the tool's server asks for something.
    pub asks_for: &'static str,
    /// The arguments, or the question, whole.
    pub arguments: String,
    /// Hash that an answer is bound to.
    pub arguments_hash: Digest,
    /// Rule of the contract that asks a person; absent for a server's question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// Hash of the contract.
    pub contract_hash: Digest,
    /// Models of the contract, as PROVIDER/MODEL.
    pub models: Vec<String>,
    /// Keys whose answers count; left out if everyone's does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// Earliest time of the question, in milliseconds since 1970-01-01 UTC.
    pub since_unix_ms: u64,
    /// Process that drives the run; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The call itself.
    #[serde(skip)]
    pub order: CallOrder,
    /// Answer that the run has not taken yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'static str>,
}

impl WaitingApproval {
    /// Reads the call that a run waits with; `None` if it does no longer.
    fn read(run_id: &RunId, path: &Path) -> Result<Option<Self>, ServiceError> {
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
