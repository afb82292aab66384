//! What entries set going: each request and each call gets its line.

use super::{Ledger, Slot};
use crate::contract::{ExecutionContract, ToolTransport};
use crate::kernel::{Action, EffectRecord};
use crate::telemetry::accounting::{
    AccountingLine, AccountingStatus, AccountingTokens, CallSource, LlmLine, Purpose, ToolLine,
};

/// What stands in a line until the answer is there.
const UNANSWERED: &str = "no answer was recorded";

impl Ledger {
    pub(super) fn effect(
        &mut self,
        contract: &ExecutionContract,
        action: &Action,
        effect: &EffectRecord,
    ) {
        let index = self.next_index();
        let turn = action.counters.turns;
        match effect {
            EffectRecord::Infer {
                inference, target, ..
            }
            | EffectRecord::Summarise {
                inference, target, ..
            } => {
                let (attempt, purpose) = match effect {
                    EffectRecord::Infer { attempt, .. } => (*attempt, None),
                    _ => (action.attempt, Some(Purpose::Summary)),
                };
                if purpose.is_some() {
                    self.summaries.insert(*inference);
                }
                let asked = usize::try_from(*target).ok();
                let target = asked.and_then(|index| contract.targets.get(index));
                let line = AccountingLine::Llm(LlmLine {
                    provider: target.map(|t| t.provider.clone()).unwrap_or_default(),
                    model: target.map(|t| t.model.clone()).unwrap_or_default(),
                    status: AccountingStatus::Failed,
                    latency: 0,
                    tokens: AccountingTokens::default(),
                    index,
                    turn,
                    attempt,
                    purpose,
                    txn_id: self.run_id.clone(),
                    parent_txn_id: self.parent.clone(),
                    origin_txn_id: self.origin(),
                    timestamp: self.unix_ms(),
                    error: Some(UNANSWERED.to_owned()),
                    cost_usd: None,
                    cost_micro_usd: None,
                    cost_source: None,
                    cost_fault: false,
                    stop_reason: None,
                });
                let slot = self.open(line, asked);
                self.inferences.insert(*inference, slot);
            }
            EffectRecord::Execute { call, id, name, .. } => {
                let origin = contract.tool(name).map(|tool| tool.origin.as_str());
                let origin = origin.unwrap_or_default();
                let line = AccountingLine::Tool(ToolLine {
                    mcp_server: origin.strip_prefix("mcp:").unwrap_or(origin).to_owned(),
                    command: name.clone(),
                    status: AccountingStatus::Failed,
                    latency: 0,
                    index,
                    turn,
                    attempt: action.attempt,
                    txn_id: self.run_id.clone(),
                    parent_txn_id: self.parent.clone(),
                    origin_txn_id: self.origin(),
                    timestamp: self.unix_ms(),
                    characters_in: self.message.get(id).copied().unwrap_or_default(),
                    characters_out: 0,
                    source: (contract.tool_transport == ToolTransport::Xml)
                        .then_some(CallSource::Xml),
                    dropped: None,
                    error: Some(UNANSWERED.to_owned()),
                });
                let slot = self.open(line, None);
                self.ids.insert(*call, id.clone());
                self.calls.insert(*call, slot);
            }
            EffectRecord::Cancel => self.cancel(),
            EffectRecord::Probe
            | EffectRecord::AwaitApproval { .. }
            | EffectRecord::Wait { .. }
            | EffectRecord::Finish => {}
        }
    }

    fn open(&mut self, line: AccountingLine, target: Option<usize>) -> Slot {
        Slot {
            began_ms: self.at_ms,
            line: self.push(line),
            open: true,
            target,
        }
    }

    /// Whatever is in flight is given up.
    fn cancel(&mut self) {
        let at_ms = self.at_ms;
        let slots = self.inferences.values_mut().chain(self.calls.values_mut());
        for slot in slots.filter(|slot| slot.open) {
            slot.open = false;
            self.closed.push(slot.line);
            let latency_ms = at_ms.saturating_sub(slot.began_ms);
            let why = Some("cancelled".to_owned());
            match self.lines.get_mut(slot.line) {
                Some(AccountingLine::Llm(line)) => {
                    line.latency = latency_ms;
                    line.error = why;
                }
                Some(AccountingLine::Tool(line)) => {
                    line.latency = latency_ms;
                    line.error = why;
                }
                None => {}
            }
        }
    }
}
