//! Scrubs a response before it is recorded. Does not know which values are secret.

use std::borrow::Cow;

use super::pieces::joined;
use crate::adapter::Decoded;
use crate::kernel::{Approval, BringUpFault, RunStarted};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, FailureCode, InputExchange, ObjectText,
    ProtocolAdapterResult, ProviderState, Scrubber, StateMember, TokenCounter, ToolInvocation,
    ToolOutcome, ToolServerStatement,
};

/// The result of an inference, as it may be recorded.
#[derive(Debug)]
pub(super) struct Scrubbed {
    /// The decoded answer, from which the event is made.
    pub(super) decoded: Decoded,
    /// The bytes to keep; none if they would show what the answer no longer does.
    pub(super) raw: Option<Vec<u8>>,
    /// The name of the bytes: plain BLAKE3 of what is kept, keyed with the run's salt where nothing is.
    pub(super) raw_hash: Digest,
}

impl Scrubbed {
    /// Wraps content that is already scrubbed.
    pub(super) fn as_it_is(raw: Vec<u8>, decoded: Decoded) -> Self {
        Self {
            decoded,
            raw_hash: Digest::of(&raw),
            raw: Some(raw),
        }
    }
}

/// Goes over results, messages and faults with the host's [`Scrubber`]: it knows where in them there is text.
#[derive(Clone, Copy, Debug)]
pub struct Scrub<'s>(pub &'s dyn Scrubber);

impl Scrub<'_> {
    /// Scrubs an answer for the record. `again` decodes bytes as the answer was decoded.
    ///
    /// Secrets are taken out of the bytes first, and what remains is decoded, so that a replay decodes the same. Where the
    /// decoded answer still shows one, because the bytes had it in pieces, it is taken out there and the bytes are not kept. Nor are
    /// they where a member of the provider's state changed: it is left out, and they would give it again.
    pub(super) fn response(
        &self,
        raw: Vec<u8>,
        decoded: Decoded,
        again: impl FnOnce(&[u8]) -> Decoded,
    ) -> Scrubbed {
        let (kept, mut decoded, in_state) = match self.0.cut_bytes(&raw) {
            Cow::Borrowed(_) => (None, decoded, false),
            Cow::Owned(kept) => {
                let mut cleaned = again(&kept);
                let in_state = leave_out_changed(&decoded, &mut cleaned);
                (Some(kept), cleaned, in_state)
            }
        };
        let in_pieces = self.shows_in_pieces(kept.as_deref().unwrap_or(&raw));
        let changed = (in_pieces | in_state)
            | match &mut decoded {
                Decoded::Message(result) => self.result(result),
                Decoded::Fault { fault, .. } => {
                    let message = self.0.cut_text(&fault.message);
                    let changed = message != fault.message;
                    fault.message = message;
                    changed
                }
            };
        if changed {
            let raw_hash = self.0.name_of_dropped(&raw);
            if let Decoded::Message(result) = &mut decoded {
                result.raw_hash = raw_hash;
                // A cut may have gone through what would be known as a whole.
                result.excerpt = None;
            }
            return Scrubbed {
                decoded,
                raw: None,
                raw_hash,
            };
        }
        let raw = kept.unwrap_or(raw);
        Scrubbed {
            decoded,
            raw_hash: Digest::of(&raw),
            raw: Some(raw),
        }
    }

    /// Returns the storable part of bytes that broke off, and their name.
    pub fn broken(&self, raw: &[u8]) -> (Option<Vec<u8>>, Digest) {
        let kept = self.0.cut_bytes(raw);
        if self.shows_in_pieces(&kept) {
            return (None, self.0.name_of_dropped(raw));
        }
        let hash = Digest::of(&kept);
        (Some(kept.into_owned()), hash)
    }

    /// True if the strings of an answer show a secret together that none of them shows alone.
    fn shows_in_pieces(&self, raw: &[u8]) -> bool {
        let shows = |text: &String| self.0.cut_text(text) != *text;
        joined(raw).iter().any(shows)
    }

    /// Scrubs a conversation recorded elsewhere before a run begins with it: a secret here may have been none there. Arguments
    /// that would be no object without their secret are replaced as a whole. Changed texts other than the model's are
    /// recounted.
    pub fn opening(
        &self,
        mut messages: Vec<AgentMessage>,
        counter: &dyn TokenCounter,
    ) -> Vec<AgentMessage> {
        for message in &mut messages {
            for call in &mut message.tool_calls {
                if self.call(call).is_err() {
                    let marker = self.0.marker(call.arguments.as_str().as_bytes());
                    let whole = format!("{{\"redacted\":\"{marker}\"}}");
                    // A marker holds nothing that would have to be escaped.
                    if let Ok(whole) = ObjectText::parse(whole) {
                        call.arguments = whole;
                    }
                }
            }
            // Calls are clean by now, so nothing is left that could fail.
            let changed = self.message(message);
            if changed.is_ok_and(|changed| changed) {
                RunStarted::recount(std::slice::from_mut(message), counter);
            }
        }
        messages
    }

    /// True where anything had to be taken out.
    fn result(&self, result: &mut ProtocolAdapterResult) -> bool {
        let mut changed = self.option(&mut result.pointer);
        changed |= self.option(&mut result.excerpt);
        changed |= self.option(&mut result.stop_word);
        if let Some(served_by) = &mut result.served_by {
            changed |= self.cut(&mut served_by.model);
            changed |= self.cut(&mut served_by.system_fingerprint);
        }
        if let Some(repair) = &mut result.repair {
            changed |= self.string(&mut repair.original);
            changed |= self.string(&mut repair.repaired);
            for step in &mut repair.steps {
                changed |= self.string(step);
            }
        }
        let Some(message) = &mut result.canonical_message else {
            return changed;
        };
        if let Ok(cleaned) = self.message(message) {
            return changed | cleaned;
        }
        // Arguments that are no object any more are not what the model asked for.
        result.canonical_message = None;
        result.failure_code = Some(FailureCode::ArgsInvalidJson);
        result.repair = None;
        result.status = AdapterStatus::Rejected;
        true
    }

    fn message(&self, message: &mut AgentMessage) -> Result<bool, Unsound> {
        let mut changed = self.string(&mut message.content);
        changed |= self.option(&mut message.reasoning);
        changed |= self.option(&mut message.tool_call_id);
        for call in &mut message.tool_calls {
            changed |= self.call(call)?;
        }
        if let Some(state) = &mut message.state {
            if changed {
                // Blocks and signatures belong to the content as it was.
                state.drop_parts();
            }
            changed |= self.state(state);
        }
        Ok(changed)
    }

    /// Leaves out the members of a state that show a secret: a provider wants each as it gave it, or not at all.
    fn state(&self, state: &mut ProviderState) -> bool {
        let shows = |text: &str| matches!(self.0.text(text), Cow::Owned(_));
        state.leave_out(|member| shows(&member.bytes) || member.name.as_deref().is_some_and(shows))
    }

    /// True if nothing has to be taken out of the call.
    pub(super) fn leaves(&self, call: &ToolInvocation) -> bool {
        let changed = self.call(&mut call.clone());
        changed.is_ok_and(|changed| !changed)
    }

    fn call(&self, call: &mut ToolInvocation) -> Result<bool, Unsound> {
        let mut changed = self.string(&mut call.id);
        changed |= self.string(&mut call.name);
        changed |= self.string(&mut call.source_model);
        changed |= self.option(&mut call.raw_payload);
        if let Cow::Owned(text) = self.0.text(call.arguments.as_str()) {
            call.arguments = ObjectText::parse(text).map_err(|_| Unsound)?;
            changed = true;
        }
        Ok(changed)
    }

    fn string(&self, text: &mut String) -> bool {
        match self.0.text(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(cleaned) => {
                *text = cleaned;
                true
            }
        }
    }

    fn option(&self, text: &mut Option<String>) -> bool {
        text.as_mut().is_some_and(|text| self.string(text))
    }

    /// A text that was cut may end with a part of a secret.
    fn cut(&self, text: &mut Option<String>) -> bool {
        text.as_mut().is_some_and(|text| {
            let cleaned = self.0.cut_text(text);
            let changed = cleaned != *text;
            *text = cleaned;
            changed
        })
    }

    /// Scrubs a call's end for the record. The envelope's content was scrubbed before it was cut.
    pub fn outcome(&self, outcome: &mut ToolOutcome) {
        match outcome {
            ToolOutcome::Malformed { detail, .. }
            | ToolOutcome::ConnectionLost { detail }
            | ToolOutcome::RestartFailed { detail }
            | ToolOutcome::ToolChanged { detail } => {
                *detail = self.0.cut_text(detail);
            }
            ToolOutcome::InputRequired(asked) => {
                if let Cow::Owned(text) = self.0.text(asked.question.as_str()) {
                    let marker = self.0.marker(asked.question.as_str().as_bytes());
                    let whole = || ObjectText::parse(format!("{{\"redacted\":\"{marker}\"}}"));
                    // A marker holds nothing that would have to be escaped.
                    asked.question = ObjectText::parse(text)
                        .or_else(|_| whole())
                        .unwrap_or_else(|_| ObjectText::empty());
                }
                // What was changed is not what the server wants back.
                let resume = asked.resume.as_deref();
                if resume.is_some_and(|resume| matches!(self.0.text(resume), Cow::Owned(_))) {
                    asked.resume = None;
                }
            }
            // The prompt was scrubbed before it was kept.
            ToolOutcome::SamplingRequired(asked) => {
                let resume = asked.resume.as_deref();
                if resume.is_some_and(|resume| matches!(self.0.text(resume), Cow::Owned(_))) {
                    asked.resume = None;
                }
            }
            ToolOutcome::Returned(_)
            | ToolOutcome::TimedOut
            | ToolOutcome::Cancelled
            | ToolOutcome::RestartInProgress => {}
        }
    }

    /// Scrubs a person's answer for the record: the server or the model gets the scrubbed form.
    pub fn answer(&self, answer: &mut Approval) {
        let written = [&mut answer.content, &mut answer.proposal];
        for text in written.into_iter().flatten() {
            self.entered(text);
        }
        if let Some(reason) = &mut answer.reason {
            *reason = self.0.text(reason).into_owned();
        }
    }

    /// Scrubs a person's input for the record.
    fn entered(&self, content: &mut ObjectText) {
        if let Cow::Owned(text) = self.0.text(content.as_str()) {
            *content = ObjectText::parse(text).unwrap_or_else(|_| ObjectText::empty());
        }
    }

    /// Scrubs servers' requests for input and the answers for the record.
    pub fn exchanges(&self, exchanges: &mut [InputExchange]) {
        for exchange in exchanges {
            exchange.change_texts(|text| self.0.cut_text(text));
        }
    }

    /// Scrubs tool servers' statements about themselves for the record.
    pub fn statements(&self, statements: &mut [ToolServerStatement]) {
        for statement in statements {
            let texts = [
                &mut statement.instructions,
                &mut statement.name,
                &mut statement.version,
            ];
            let texts = texts.into_iter().flatten();
            for text in texts.chain([&mut statement.protocol]) {
                *text = self.0.cut_text(text);
            }
        }
    }

    /// Scrubs bring-up faults for the record.
    pub fn faults(&self, faults: &mut [BringUpFault]) {
        for fault in faults {
            fault.detail = self.0.cut_text(&fault.detail);
        }
    }
}

/// Leaves out the members of a message's state that are not what they were before the secrets were taken out. True if there are any.
fn leave_out_changed(was: &Decoded, is: &mut Decoded) -> bool {
    let Decoded::Message(was) = was else {
        return false;
    };
    let was = was.canonical_message.as_ref();
    let was = was.and_then(|message| message.state.as_deref());
    let Decoded::Message(is) = is else {
        return false;
    };
    let is = is.canonical_message.as_mut();
    let (Some(was), Some(is)) = (was, is.and_then(|message| message.state.as_deref_mut())) else {
        return false;
    };
    is.leave_out(|member| {
        let same = |other: &StateMember| member.place == other.place && member.bytes == other.bytes;
        !was.members.iter().any(same)
    })
}

/// Arguments from which a secret cannot be taken without breaking them.
struct Unsound;
