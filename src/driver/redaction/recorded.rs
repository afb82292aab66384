use std::borrow::Cow;

use super::Redactor;
use super::pieces::joined;
use crate::adapter::Decoded;
use crate::kernel::{BringUpFault, RunStarted};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, FailureCode, ObjectText, ProtocolAdapterResult,
    ReasoningPart, ReasoningTrace, TokenCounter, ToolInvocation, ToolOutcome,
};

/// What an inference brought, as it may be recorded.
#[derive(Debug)]
pub(in crate::driver) struct Cleaned {
    /// The decoded answer, from which the event is made.
    pub(in crate::driver) decoded: Decoded,
    /// The bytes to keep; none where they would show what the answer no longer does.
    pub(in crate::driver) raw: Option<Vec<u8>>,
    /// The name of the bytes: plain BLAKE3 of what is kept, keyed with the run's salt where nothing is.
    pub(in crate::driver) raw_hash: Digest,
}

impl Redactor {
    /// What an answer may be recorded as. `again` decodes bytes as the answer was decoded.
    ///
    /// Secrets are taken out of the bytes first, and what remains is decoded, so that a replay decodes the same. Where the
    /// decoded answer still shows one, because the bytes had it in pieces, it is taken out there and the bytes are not kept.
    pub(in crate::driver) fn clean(
        &self,
        raw: Vec<u8>,
        decoded: Decoded,
        again: impl FnOnce(&[u8]) -> Decoded,
    ) -> Cleaned {
        let (kept, mut decoded) = match self.cut_bytes(&raw) {
            Cow::Borrowed(_) => (None, decoded),
            Cow::Owned(kept) => {
                let decoded = again(&kept);
                (Some(kept), decoded)
            }
        };
        let in_pieces = self.shows_in_pieces(kept.as_deref().unwrap_or(&raw));
        let changed = in_pieces
            | match &mut decoded {
                Decoded::Message(result) => self.clean_result(result),
                Decoded::Fault { fault, .. } => {
                    let message = self.cut_text(&fault.message);
                    let changed = message != fault.message;
                    fault.message = message;
                    changed
                }
            };
        if changed {
            let raw_hash = self.name_of_dropped(&raw);
            if let Decoded::Message(result) = &mut decoded {
                result.raw_hash = raw_hash;
            }
            return Cleaned {
                decoded,
                raw: None,
                raw_hash,
            };
        }
        let raw = kept.unwrap_or(raw);
        Cleaned {
            decoded,
            raw_hash: Digest::of(&raw),
            raw: Some(raw),
        }
    }

    /// What may be kept of bytes that broke off, and their name.
    pub(in crate::driver) fn clean_broken(&self, raw: &[u8]) -> (Option<Vec<u8>>, Digest) {
        let kept = self.cut_bytes(raw);
        if self.shows_in_pieces(&kept) {
            return (None, self.name_of_dropped(raw));
        }
        let hash = Digest::of(&kept);
        (Some(kept.into_owned()), hash)
    }

    /// Whether the strings of an answer show a secret together that no one of them shows.
    fn shows_in_pieces(&self, raw: &[u8]) -> bool {
        let shows = |text: &String| self.cut_text(text) != *text;
        joined(raw).iter().any(shows)
    }

    /// What a conversation that was recorded elsewhere may be begun with: what is a secret here may have been none there.
    /// Arguments that would be no object without their secret are replaced as a whole. What is changed of a text that is not the
    /// model's is counted again.
    pub(in crate::driver) fn clean_opening(
        &self,
        mut messages: Vec<AgentMessage>,
        counter: &dyn TokenCounter,
    ) -> Vec<AgentMessage> {
        for message in &mut messages {
            for call in &mut message.tool_calls {
                if self.clean_call(call).is_err() {
                    let marker = self.marker(call.arguments.as_str().as_bytes());
                    let whole = format!("{{\"redacted\":\"{marker}\"}}");
                    // A marker holds nothing that would have to be escaped.
                    if let Ok(whole) = ObjectText::parse(whole) {
                        call.arguments = whole;
                    }
                }
            }
            // Calls are clean by now, so nothing is left that could fail.
            let changed = self.clean_message(message);
            if changed.is_ok_and(|changed| changed) {
                RunStarted::recount(std::slice::from_mut(message), counter);
            }
        }
        messages
    }

    /// True where anything had to be taken out.
    fn clean_result(&self, result: &mut ProtocolAdapterResult) -> bool {
        let mut changed = self.clean_option(&mut result.pointer);
        if let Some(repair) = &mut result.repair {
            changed |= self.clean_text(&mut repair.original);
            changed |= self.clean_text(&mut repair.repaired);
            for step in &mut repair.steps {
                changed |= self.clean_text(step);
            }
        }
        let Some(message) = &mut result.canonical_message else {
            return changed;
        };
        if let Ok(cleaned) = self.clean_message(message) {
            return changed | cleaned;
        }
        // Arguments that are no object any more cannot be said to be what the model asked for.
        result.canonical_message = None;
        result.failure_code = Some(FailureCode::ArgsInvalidJson);
        result.repair = None;
        result.status = AdapterStatus::Rejected;
        true
    }

    fn clean_message(&self, message: &mut AgentMessage) -> Result<bool, Unsound> {
        let mut changed = self.clean_text(&mut message.content);
        changed |= self.clean_option(&mut message.reasoning);
        changed |= self.clean_option(&mut message.tool_call_id);
        for call in &mut message.tool_calls {
            changed |= self.clean_call(call)?;
        }
        // What was signed is worth nothing once it is changed.
        let trace = message.reasoning_trace.as_ref();
        if trace.is_some_and(|trace| changed || self.shows_in(trace)) {
            message.reasoning_trace = None;
            changed = true;
        }
        Ok(changed)
    }

    fn shows_in(&self, trace: &ReasoningTrace) -> bool {
        let shows = |text: &str| matches!(self.text(text), Cow::Owned(_));
        trace.parts.iter().any(|part| match part {
            ReasoningPart::Block(text) => shows(text),
            ReasoningPart::Call(signature) => signature.as_deref().is_some_and(shows),
            ReasoningPart::Text(text) => text.signature.as_deref().is_some_and(shows),
        })
    }

    fn clean_call(&self, call: &mut ToolInvocation) -> Result<bool, Unsound> {
        let mut changed = self.clean_text(&mut call.id);
        changed |= self.clean_text(&mut call.name);
        changed |= self.clean_text(&mut call.source_model);
        changed |= self.clean_option(&mut call.raw_payload);
        if let Cow::Owned(text) = self.text(call.arguments.as_str()) {
            call.arguments = ObjectText::parse(text).map_err(|_| Unsound)?;
            changed = true;
        }
        Ok(changed)
    }

    fn clean_text(&self, text: &mut String) -> bool {
        match self.text(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(cleaned) => {
                *text = cleaned;
                true
            }
        }
    }

    fn clean_option(&self, text: &mut Option<String>) -> bool {
        text.as_mut().is_some_and(|text| self.clean_text(text))
    }

    /// What a call's end may be recorded as. What the envelope says was gone over before it was cut.
    pub(in crate::driver) fn clean_outcome(&self, outcome: &mut ToolOutcome) {
        match outcome {
            ToolOutcome::Malformed { detail, .. } | ToolOutcome::ConnectionLost { detail } => {
                *detail = self.cut_text(detail);
            }
            ToolOutcome::Returned(_)
            | ToolOutcome::TimedOut
            | ToolOutcome::Cancelled
            | ToolOutcome::ToolChanged => {}
        }
    }

    /// What did not come up, as it may be recorded.
    pub(in crate::driver) fn clean_faults(&self, faults: &mut [BringUpFault]) {
        for fault in faults {
            fault.detail = self.cut_text(&fault.detail);
        }
    }
}

/// Arguments from which a secret cannot be taken without breaking them.
struct Unsound;
