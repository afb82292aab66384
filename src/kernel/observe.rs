//! OBSERVE: turns results into observations, in call order, and makes the only [`Proof`]s there are.

use serde::Serialize;

use super::ReportSource;
use super::batch::Slot;
use super::edges::{FromObserve, Reply};
use super::guard::{Guard, holds};
use super::machine::{Machine, Phase, Verdict};
use super::proof::Proof;
use super::session::Report;
use super::texts::FailedReason;
use crate::contract::ToolTransport;
use crate::message::{
    AgentMessage, EnvelopeStatus, Observed, ObservedStatus, ToolEnvelope, ToolOutcome,
    cut_to_limit, estimate_tokens, exact_sum,
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

    /// Appends one observation for each call of the batch, in the message's order; calls inside a container have one together,
    /// and an accepted final report has none.
    pub(super) fn observe_batch(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let mut seen: Vec<Seen> = Vec::with_capacity(batch.calls.len());
        for call in batch.calls {
            let name = call.invocation.name;
            let observed = self.observed(&call.slot);
            let (text, tokens) = match call.slot {
                Slot::Answered(reason) => counted(reason.observation()),
                Slot::Said(text) => counted(text),
                Slot::Report => (String::new(), Counted::Report),
                // EXECUTE leaves no call pending, awaiting or running; if it did, its effect would be unknown.
                Slot::Pending(_) | Slot::Awaiting(_) | Slot::Running(_) => {
                    counted(FailedReason::EffectUnknown.observation())
                }
                Slot::Ended {
                    outcome, dropped, ..
                } => self.observe_outcome(&outcome, &name, dropped),
            };
            seen.push(Seen {
                id: call.invocation.id,
                name,
                observed,
                part: call.part,
                text,
                tokens,
            });
        }
        let unreported = self.settle_report();
        let mut seen = seen.into_iter().peekable();
        while let Some(first) = seen.next() {
            let Some((container, _)) = &first.part else {
                self.say(first, unreported.as_ref());
                continue;
            };
            let container = container.clone();
            let mut parts = vec![first];
            let beside = |next: &Seen| next.part.as_ref().is_some_and(|(id, _)| *id == container);
            while let Some(next) = seen.next_if(beside) {
                parts.push(next);
            }
            self.say_parts(container, &parts);
        }
    }

    /// One call's observation. EXECUTE has already counted what returned; the rest is counted here.
    fn say(&mut self, seen: Seen, unreported: Option<&FailedReason>) {
        let (text, tokens) = match (seen.tokens, unreported) {
            (Counted::Report, None) => return,
            (Counted::Report, Some(reason)) => counted(reason.observation()),
            (tokens, _) => (seen.text, tokens),
        };
        let observation = |tokens| AgentMessage {
            observed: seen.observed,
            ..AgentMessage::observation(seen.id, text, tokens)
        };
        match tokens {
            Counted::Already(tokens) => self.conversation.push(observation(tokens)),
            Counted::Now(tokens) => self.append_pending(observation(tokens)),
            Counted::Report => {}
        }
    }

    /// How a call ended, where results are told in text.
    fn observed(&self, slot: &Slot) -> Option<Observed> {
        let failed = |duration_ms| Observed {
            duration_ms,
            status: ObservedStatus::Failed,
        };
        let observed = match slot {
            Slot::Said(_) => Observed {
                duration_ms: 0,
                status: ObservedStatus::Ok,
            },
            Slot::Ended {
                outcome, dropped, ..
            } => match outcome.as_ref() {
                ToolOutcome::Returned(envelope)
                    if envelope.status == EnvelopeStatus::Ok && !dropped =>
                {
                    Observed {
                        duration_ms: envelope.duration_ms,
                        status: ObservedStatus::Ok,
                    }
                }
                ToolOutcome::Returned(envelope) => failed(envelope.duration_ms),
                ToolOutcome::Malformed { .. }
                | ToolOutcome::ConnectionLost { .. }
                | ToolOutcome::TimedOut
                | ToolOutcome::Cancelled
                | ToolOutcome::ToolChanged => failed(0),
            },
            Slot::Answered(_)
            | Slot::Report
            | Slot::Pending(_)
            | Slot::Awaiting(_)
            | Slot::Running(_) => failed(0),
        };
        (self.contract.tool_transport == ToolTransport::Xml).then_some(observed)
    }

    /// The observation of a container: what came of each call in it. The whole is never cut; its parts were.
    fn say_parts(&mut self, container: String, parts: &[Seen]) {
        let rendered = |text: fn(&Seen) -> &str| {
            let shown: Vec<PartShown<'_>> = parts
                .iter()
                .map(|part| PartShown {
                    id: part.part.as_ref().map_or("", |(_, label)| label),
                    output: text(part),
                    tool: &part.name,
                })
                .collect();
            // Three strings each: serialising them cannot fail.
            serde_json::to_string(&shown).unwrap_or_default()
        };
        let frame = estimate_tokens(&rendered(|_| ""));
        let fresh = parts.iter().fold(frame, |sum, part| match part.tokens {
            Counted::Now(tokens) => exact_sum(sum, tokens),
            Counted::Already(_) | Counted::Report => sum,
        });
        let already = parts.iter().fold(0, |sum, part| match part.tokens {
            Counted::Already(tokens) => exact_sum(sum, tokens),
            Counted::Now(_) | Counted::Report => sum,
        });
        self.context.new = exact_sum(self.context.new, fresh);
        let tokens = exact_sum(fresh, already);
        let text = rendered(|part| &part.text);
        // The container took as long as its parts, and failed where one of them did.
        let observed = parts
            .iter()
            .filter_map(|part| part.observed)
            .reduce(|a, b| Observed {
                duration_ms: exact_sum(a.duration_ms, b.duration_ms),
                status: if a.status == ObservedStatus::Ok {
                    b.status
                } else {
                    a.status
                },
            });
        self.conversation.push(AgentMessage {
            observed,
            ..AgentMessage::observation(container, text, tokens)
        });
    }

    /// Decides what the report of the message comes to, now that the calls beside it have ended; why its calls are answered, where
    /// they are.
    fn settle_report(&mut self) -> Option<FailedReason> {
        let undecided = self.verdict == Verdict::None && !self.head_decides();
        match std::mem::take(&mut self.report) {
            Report::Held(report) if undecided => {
                if holds(Guard::ReportProof, self.required_unproven()) {
                    return Some(FailedReason::Unproven);
                }
                self.report = Report::Accepted(report, ReportSource::Tool);
                self.verdict = Verdict::Terminal;
                None
            }
            Report::Broken(reason) if undecided => {
                self.verdict = Verdict::ReportFailed;
                Some(reason)
            }
            Report::None | Report::Held(_) | Report::Broken(_) | Report::Accepted(..) => {
                Some(FailedReason::NotStartedCutShort)
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
pub(crate) fn observation_text(envelope: &ToolEnvelope, limit: u64, marker: &str) -> String {
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

/// One call of the batch and what is said of it.
struct Seen {
    id: String,
    name: String,
    observed: Option<Observed>,
    part: Option<(String, String)>,
    text: String,
    tokens: Counted,
}

#[derive(Clone, Copy)]
enum Counted {
    Already(u64),
    Now(u64),
    /// What is said of it depends on what the report comes to.
    Report,
}

/// What the model is shown of one call in a container.
#[derive(Serialize)]
struct PartShown<'a> {
    id: &'a str,
    output: &'a str,
    tool: &'a str,
}

fn counted(text: String) -> (String, Counted) {
    let tokens = estimate_tokens(&text);
    (text, Counted::Now(tokens))
}
