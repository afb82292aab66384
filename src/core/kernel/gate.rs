//! The token gate (002 Invariant F, semantics §7): until a call of the run has been validated, text is held back.

use super::Run;
use super::judge::Judgement;
use super::machine::Machine;
use crate::contract::{SessionTool, ToolPolicy};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, ProtocolAdapterResult, ProviderFault, Withheld, is_blank,
};

impl Machine {
    /// True if text must still be withheld.
    pub(super) fn gate_closed(&self) -> bool {
        self.contract.token_gate
            && self.contract.tool_policy == ToolPolicy::Required
            && !self.gate_open
    }

    /// Takes out of a message what must not be seen: its text, what it reports by the session's tools, which open nothing, and
    /// the texts of its repair. The record of a repair holds whatever was repaired or left out, the text of the message with it,
    /// so nothing of it but the steps can be shown.
    fn hold_back(&self, result: &mut ProtocolAdapterResult) -> Held {
        let Some(message) = &mut result.canonical_message else {
            return Held::default();
        };
        let mut text = std::mem::take(&mut message.content);
        if let Some(state) = &mut message.state {
            state.drop_repeats(&text);
        }
        let mut report_bytes = None;
        message.tool_calls.retain_mut(|call| {
            let arguments = call.arguments.as_str();
            match self.contract.session_tool(&call.name) {
                Some(SessionTool::FinalReport) => report_bytes = Some(size(arguments)),
                Some(SessionTool::ProgressReport) => {}
                Some(SessionTool::Batch) | None => {
                    // It stands in the record of the repair, too.
                    call.raw_payload = None;
                    return true;
                }
            }
            text.push_str(arguments);
            false
        });
        let is_blank = is_blank(&text);
        if let Some(repair) = &mut result.repair {
            text.push_str(&std::mem::take(&mut repair.original));
            text.push_str(&std::mem::take(&mut repair.repaired));
        }
        Held {
            is_blank,
            report_bytes,
            text,
        }
    }
}

fn size(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// The text taken out of a message.
#[derive(Debug, Default)]
struct Held {
    /// True if the message itself said nothing; repaired text does not count.
    is_blank: bool,
    /// Size of the arguments of the last final report in it.
    report_bytes: Option<u64>,
    text: String,
}

/// An adapter's verdict as it may be recorded, and what must be kept out of sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// True if the raw answer may hold withheld text.
    pub gated: bool,
    /// The verdict, without the text that is held back.
    pub result: ProtocolAdapterResult,
    /// The text that was taken out: for the blob store and nothing else.
    pub withheld: Option<String>,
}

impl Run {
    /// Returns the recordable part of an adapter's verdict.
    ///
    /// While the gate is closed and no call of the message validates, takes its text out and returns it with the verdict. A
    /// rejected answer has no text, but its raw bytes may: they are marked. Pure, so replay does the same to what it decodes
    /// again.
    #[must_use]
    pub(crate) fn admit(&self, mut result: ProtocolAdapterResult) -> Admitted {
        let machine = self.storage();
        // A message that is not taken opens nothing, whatever it asks for.
        let taken = result.status != AdapterStatus::Recovered || !machine.contract.strict_mode;
        let opens = |message: &AgentMessage| match machine.judge(message) {
            Judgement::Calls(judged) => taken && judged.iter().any(|one| one.answer().is_none()),
            Judgement::Violation(_) | Judgement::Invalid(_) | Judgement::Limit(_) => false,
        };
        let gated = machine.gate_closed() && !result.canonical_message.as_ref().is_some_and(opens);
        if gated {
            result.excerpt = None;
            for warning in &mut result.tag_warnings {
                warning.slot = None;
            }
        }
        let held = gated.then(|| machine.hold_back(&mut result));
        let held = held.filter(|held| !held.text.is_empty());
        if let Some(held) = &held {
            result.withheld = Some(Withheld {
                blank: held.is_blank,
                bytes: size(&held.text),
                hash: Digest::of(held.text.as_bytes()),
                report_bytes: held.report_bytes,
            });
        }
        Admitted {
            gated,
            result,
            withheld: held.map(|held| held.text),
        }
    }

    /// True if the message of a verdict asks for a tool other than the session's own.
    #[must_use]
    pub fn asks(&self, result: &ProtocolAdapterResult) -> bool {
        let message = result.canonical_message.as_ref();
        message.is_some_and(|message| !self.storage().units(message).is_empty())
    }

    /// True if data that arrived before this fault may hold withheld text.
    #[must_use]
    pub fn gates(&self, fault: &ProviderFault) -> bool {
        fault.raw_hash.is_some() && self.holds_back()
    }

    /// True if data that arrives now without a message, such as a broken stream, may hold withheld text.
    #[must_use]
    pub fn holds_back(&self) -> bool {
        self.storage().gate_closed()
    }
}
