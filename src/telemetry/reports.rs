//! Final reports that came as tags: an entry of the accounting each (000 §11), with what became of it.

use super::Ledger;
use super::accounting::{AccountingLine, AccountingStatus, CallSource, FINAL_REPORT_XML, ToolLine};
use super::ledger::size;
use crate::adapter::xml::Nonce;
use crate::contract::{ExecutionContract, FINAL_REPORT, ToolTransport, Validators};
use crate::kernel::{Action, InferenceReturned, ReportSource, State};
use crate::message::{StopReason, ToolInvocation, genesis};

/// What is said of a report that kept to its form and still counted for nothing, where the machine said nothing else.
const UNCOUNTED: &str = "the report did not count";
/// What is said of one that came before a call of the run had been validated.
const HELD_BACK: &str = "held back by the token gate: no call of the run had been validated";

/// A report whose worth is not known yet.
#[derive(Clone, Debug)]
pub(super) struct PendingReport {
    line: usize,
    /// What is wrong with it, as far as that is known.
    fault: Option<String>,
}

impl Ledger {
    /// A response came: its final report, where it has one in a tag, gets its line.
    pub(super) fn report_given(
        &mut self,
        contract: &ExecutionContract,
        action: &Action,
        returned: &InferenceReturned,
    ) {
        let (Some(run_id), Some(message)) = (self.run_id(), &returned.result.canonical_message)
        else {
            return;
        };
        if contract.tool_transport == ToolTransport::Native {
            return;
        }
        let slot = Nonce::of(&genesis(contract.contract_hash(), run_id)).final_slot();
        let in_its_tag = |call: &&ToolInvocation| call.name == FINAL_REPORT && call.id == slot;
        // Of one that is held back the entry shows the size and nothing else.
        let held_back = returned.result.withheld.and_then(|held| held.report_bytes);
        let (characters_in, fault) = match message.tool_calls.iter().find(in_its_tag) {
            Some(call) => (size(call.arguments.as_str()), fault_of(contract, call)),
            None => match held_back {
                Some(bytes) => (bytes, Some(HELD_BACK.to_owned())),
                None => return,
            },
        };
        let cut = returned.result.stop == StopReason::Length;
        let fault = fault.or_else(|| cut.then(|| "cut at the output limit".to_owned()));
        let own = contract
            .session_tools
            .iter()
            .find(|tool| tool.name == FINAL_REPORT);
        let line = AccountingLine::Tool(ToolLine {
            mcp_server: own.map(|tool| tool.origin.clone()).unwrap_or_default(),
            command: FINAL_REPORT_XML.to_owned(),
            status: AccountingStatus::Failed,
            latency: 0,
            index: self.next_index(),
            turn: action.counters.turns,
            attempt: action.attempt,
            txn_id: self.run_id().cloned(),
            parent_txn_id: self.parent().cloned(),
            origin_txn_id: self.origin(),
            timestamp: self.unix_ms(),
            characters_in,
            characters_out: 0,
            source: Some(CallSource::Xml),
            dropped: None,
            error: Some(UNCOUNTED.to_owned()),
        });
        let line = self.push(line);
        self.report = Some(PendingReport { line, fault });
    }

    /// What an entry says of the report that waits: it counts where the run ends with it, and has failed where anything else
    /// follows the turn.
    pub(super) fn report_settled(&mut self, action: &Action) {
        let Some(pending) = &mut self.report else {
            return;
        };
        if action.from == State::ValidateCalls && pending.fault.is_none() {
            pending.fault.clone_from(&action.note);
        }
        if action.from != State::Commit {
            return;
        }
        let given = action.report.as_ref().map(|report| report.source);
        let Some(PendingReport { line, fault }) = self.report.take() else {
            return;
        };
        if let Some(AccountingLine::Tool(line)) = self.line_mut(line) {
            if given == Some(ReportSource::Tool) {
                line.status = AccountingStatus::Ok;
                line.error = None;
            } else if fault.is_some() {
                line.error = fault;
            }
        }
        self.close(line);
    }
}

/// The rule of its form that a report breaks.
fn fault_of(contract: &ExecutionContract, call: &ToolInvocation) -> Option<String> {
    let terms = contract.final_report.as_ref()?;
    // Tools have no part in it, and most forms have no schema.
    let validators = match &terms.schema {
        Some(_) => Validators::compile(contract),
        None => Validators::default(),
    };
    let fault = terms.read(&call.arguments, &validators).err()?;
    Some(format!(
        "TOOL_VALIDATION_ERROR: {}: {}",
        fault.pointer, fault.rule
    ))
}
