//! OBSERVE: turns results into observations, in call order, and makes the only [`Proof`]s there are.

use super::batch::Slot;
use super::edges::{FromObserve, Reply};
use super::machine::{Machine, Phase, Verdict};
use super::proof::Proof;
use super::texts::FailedReason;
use crate::message::{
    AgentMessage, EnvelopeStatus, ToolEnvelope, ToolOutcome, cut_to_limit, estimate_tokens,
};

impl Machine {
    pub(super) fn observe(&mut self) -> Reply<FromObserve> {
        self.phase = Phase::Nothing;
        self.observe_batch();
        if self.verdict == Verdict::None {
            self.verdict = Verdict::Advanced;
        }
        Reply::Go(FromObserve::Commit)
    }

    /// Appends one observation for each call of the batch, in the message's order.
    pub(super) fn observe_batch(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        for call in batch.calls {
            let id = call.invocation.id;
            let (text, tokens) = match call.slot {
                Slot::Answered(reason) => counted(reason.observation()),
                // EXECUTE leaves no call pending, awaiting or running; if it did, its effect would be unknown.
                Slot::Pending(_) | Slot::Awaiting(_) | Slot::Running(_) => {
                    counted(FailedReason::EffectUnknown.observation())
                }
                Slot::Ended {
                    outcome, dropped, ..
                } => self.observe_outcome(&outcome, &call.invocation.name, dropped),
            };
            // EXECUTE has already counted what returned; the rest is counted here.
            match tokens {
                Counted::Already(tokens) => {
                    self.conversation
                        .push(AgentMessage::observation(id, text, tokens));
                }
                Counted::Now(tokens) => {
                    self.append_pending(AgentMessage::observation(id, text, tokens));
                }
            }
        }
    }

    fn observe_outcome(
        &mut self,
        outcome: &ToolOutcome,
        name: &str,
        dropped: bool,
    ) -> (String, Counted) {
        let reason = match outcome {
            ToolOutcome::Returned(envelope) => {
                self.count_executed(envelope);
                if dropped {
                    let stub = FailedReason::ContextExceeded.observation();
                    let tokens = estimate_tokens(&stub);
                    return (stub, Counted::Already(tokens));
                }
                let text = self.observation_text(envelope);
                return (text, Counted::Already(envelope.tokens));
            }
            ToolOutcome::Malformed { .. } | ToolOutcome::Cancelled => FailedReason::EffectUnknown,
            ToolOutcome::TimedOut => FailedReason::Timeout,
            ToolOutcome::ConnectionLost { .. } => FailedReason::ConnectionLost,
            ToolOutcome::ToolChanged => FailedReason::NotFound {
                name: name.to_owned(),
            },
        };
        counted(reason.observation())
    }

    fn count_executed(&mut self, envelope: &ToolEnvelope) {
        let c = &mut self.counters;
        c.executed = c.executed.saturating_add(1);
        if envelope.status == EnvelopeStatus::Ok {
            c.executed_ok = c.executed_ok.saturating_add(1);
        }
        if let Some(proof) = Proof::from_executed(envelope, self.contract.tool_proof) {
            self.proof = Some(proof);
        }
    }

    /// What the model is shown of an envelope: cut to the contract's output budget.
    fn observation_text(&self, envelope: &ToolEnvelope) -> String {
        observation_text(
            envelope,
            self.contract.tool_output_budget.max_bytes_per_call,
            &self.contract.tool_output_budget.truncation_marker,
        )
    }
}

/// The observation made of an envelope: its text, or `(tool failed: …)`, cut to `limit` bytes.
///
/// The driver stamps an envelope's tokens by this text.
#[must_use]
pub fn observation_text(envelope: &ToolEnvelope, limit: u64, marker: &str) -> String {
    let text = envelope.text();
    let length = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
    // Only a beginning of the text may be here; the rest lies in the blob store.
    let absent = envelope.bytes_out.saturating_sub(length(&text));
    let shown = match envelope.status {
        EnvelopeStatus::Ok => text,
        EnvelopeStatus::Error => FailedReason::Tool(text).observation(),
    };
    let original = length(&shown).saturating_add(absent);
    cut_to_limit(&shown, original, limit, marker).text
}

enum Counted {
    Already(u64),
    Now(u64),
}

fn counted(text: String) -> (String, Counted) {
    let tokens = estimate_tokens(&text);
    (text, Counted::Now(tokens))
}
