//! The token gate (002 Invariant F, semantics §7): until a call of the run has been validated, text is held back.

use super::Run;
use super::judge::Judgement;
use super::machine::Machine;
use crate::contract::ToolPolicy;
use crate::message::{Digest, ProtocolAdapterResult, Withheld};

impl Machine {
    /// Whether text must still be held back.
    pub(super) fn gate_closed(&self) -> bool {
        self.contract.token_gate
            && self.contract.tool_policy == ToolPolicy::Required
            && !self.gate_open
    }
}

impl Run {
    /// What of an adapter's verdict may be recorded now.
    ///
    /// While the gate is closed and no call of the message validates, its text is taken out and returned beside the verdict: it
    /// belongs in the blob store and nowhere else. Pure, so replay does the same to what it decodes again.
    #[must_use]
    pub fn withhold(
        &self,
        mut result: ProtocolAdapterResult,
    ) -> (ProtocolAdapterResult, Option<String>) {
        let machine = self.storage();
        let Some(message) = result.canonical_message.as_mut() else {
            return (result, None);
        };
        let opens = || match machine.judge(message) {
            Judgement::Calls(answers) => answers.iter().any(Option::is_none),
            Judgement::Violation(_) | Judgement::Rejected { .. } | Judgement::Limit(_) => false,
        };
        if message.content.is_empty() || !machine.gate_closed() || opens() {
            return (result, None);
        }
        let text = std::mem::take(&mut message.content);
        result.withheld = Some(Withheld {
            blank: text.trim().is_empty(),
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            hash: Digest::of(text.as_bytes()),
        });
        (result, Some(text))
    }
}
