//! INFER: rests until an inference has come back, or a wait before it has ended.

use super::context::account;
use super::edges::{FromInfer, Reply};
use super::faults::Remedy;
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::stage::{Arrived, Awaited};
use super::turn::Failure;
use super::{
    EventKind, InferRequest, InferenceFailed, LostEffect, OutcomeCode, ToolExposure, XmlOffer,
};
use crate::contract::ToolTransport;
use crate::message::{InferenceSeq, ProviderFaultClass, exact_sum};

/// The most slots that one turn offers: each is named in the request.
const MAX_SLOTS: u32 = 100;

impl Machine {
    pub(super) fn infer(
        &mut self,
        event: &EventKind,
        awaited: &mut Awaited,
        outbox: &mut Outbox,
    ) -> Reply<FromInfer> {
        match (event, *awaited) {
            (EventKind::CallStreamed(streamed), Awaited::Inference(awaited))
                if streamed.inference == awaited =>
            {
                self.call_streamed(streamed, outbox)
            }
            (EventKind::InferenceReturned(returned), Awaited::Inference(awaited))
                if returned.inference == awaited =>
            {
                self.notices.clear();
                self.has_answered(returned.inference);
                self.count_usage(returned.inference, &returned.usage);
                let mut result = returned.result.clone();
                if let Some(message) = &mut result.canonical_message {
                    message.state.clone_from(&returned.provider_state);
                }
                Reply::Go(FromInfer::ValidateCalls(Box::new(Arrived {
                    gate_breached: returned.gate_breached,
                    result,
                    usage: returned.usage,
                })))
            }
            (EventKind::InferenceFailed(failed), Awaited::Inference(awaited))
                if failed.inference == awaited =>
            {
                self.fail_attempt(failed, outbox);
                self.discard_early(outbox);
                Reply::Go(FromInfer::Commit)
            }
            (EventKind::EffectLost(LostEffect::Inference(lost)), Awaited::Inference(awaited))
                if *lost == awaited =>
            {
                self.verdict = Verdict::Lost;
                self.discard_early(outbox);
                Reply::Go(FromInfer::Commit)
            }
            (EventKind::EffectLost(LostEffect::Wait), Awaited::Wait { until_ms }) => {
                *awaited = self.begin_wait(until_ms, outbox);
                Reply::Stay("the wait goes on")
            }
            (EventKind::TimerFired, Awaited::Wait { until_ms })
                if self.at_ms >= until_ms && !self.total_exceeded() && !self.step_exceeded() =>
            {
                // What came late during the wait may have used the budget up: then COMMIT judges.
                if self.request_again_fits() {
                    *awaited = self.issue_or_rest(outbox);
                    return Reply::Stay("the wait is over");
                }
                self.verdict = Verdict::WaitEnded;
                Reply::Go(FromInfer::Commit)
            }
            (EventKind::StopRequested, Awaited::Wait { .. } | Awaited::Due { .. })
                if !self.stop_requested =>
            {
                self.stop_requested = true;
                self.verdict = Verdict::WaitEnded;
                Reply::Go(FromInfer::Commit)
            }
            (_, _) => Reply::Defer,
        }
    }

    fn fail_attempt(&mut self, failed: &InferenceFailed, outbox: &mut Outbox) {
        if let Some(usage) = &failed.usage {
            self.count_usage(failed.inference, usage);
        }
        let remedy = self.take_fault(self.turn.target(), &failed.fault, outbox);
        if remedy == Remedy::Repeat {
            // The same attempt with the same notices.
            self.verdict = Verdict::ParametersRefused;
            return;
        }
        if failed.fault.class == ProviderFaultClass::ContextOverflow {
            // The same attempt at another target, with the same notices.
            self.record_overflow();
        } else {
            self.notices.clear();
        }
        self.verdict = Verdict::Failed(match failed.fault.class {
            ProviderFaultClass::Refusal => Failure::Refused(OutcomeCode::Refusal),
            ProviderFaultClass::ContentFilter => Failure::Refused(OutcomeCode::ContentFilter),
            class @ (ProviderFaultClass::RateLimit
            | ProviderFaultClass::Auth
            | ProviderFaultClass::Quota
            | ProviderFaultClass::Timeout
            | ProviderFaultClass::Network
            | ProviderFaultClass::Model
            | ProviderFaultClass::ContextOverflow
            | ProviderFaultClass::InvalidResponse) => Failure::Provider {
                class,
                dropped: match remedy {
                    Remedy::Dropped(reason) => Some(reason),
                    Remedy::Repeat | Remedy::Retry => None,
                },
            },
        });
    }

    /// Sends the running attempt's request: counted when issued, its account recorded in the same entry.
    pub(super) fn issue_inference(&mut self, outbox: &mut Outbox) -> Awaited {
        let target = self.turn.target();
        let schema = self.schema_tokens(target, self.closing.is_some(), self.turn.number);
        let mut ledger = self.context;
        for notice in &self.notices {
            ledger.pending = exact_sum(ledger.pending, notice.tokens);
        }
        let fits = self.limit(target);
        let request_account = account(&ledger, schema, fits);
        if self.closing.is_some() && request_account.projected > fits {
            let (projected, over) = (request_account.projected, "sent all the same");
            outbox.note = Some(format!(
                "the closing request does not fit and is {over}: {projected} tokens of {fits}"
            ));
        }
        let inference = self.next_inference(target);
        outbox.infer(InferRequest {
            attempt: self.turn.attempt,
            closing: self.closing,
            expected_tokens: request_account.expected,
            inference,
            left_out: self.left_out.of(target),
            // Kept until the answer comes: a request that is lost is sent again as it was.
            notices: self.notices.clone(),
            target,
            tools: self.exposure(),
            turn: self.turn.number,
            xml: self.xml_offer(target, self.closing.is_some(), self.turn.number),
        });
        outbox.context = Some(request_account);
        Awaited::Inference(inference)
    }

    /// Counts a request beside the turn's attempts, and returns it: without notices, tools and tags.
    pub(super) fn side_request(&mut self, target: usize, expected_tokens: u64) -> InferRequest {
        InferRequest {
            attempt: self.turn.attempt,
            closing: None,
            expected_tokens,
            inference: self.next_inference(target),
            left_out: self.left_out.of(target),
            notices: Vec::new(),
            target,
            tools: ToolExposure::Withheld,
            turn: self.turn.number,
            xml: None,
        }
    }

    fn next_inference(&mut self, target: usize) -> InferenceSeq {
        self.counters.inferences = self.counters.inferences.saturating_add(1);
        let inference = InferenceSeq(self.counters.inferences);
        self.asked.insert(inference, target);
        inference
    }

    fn exposure(&self) -> ToolExposure {
        let terms = &self.contract;
        let closing = self.closing.is_some();
        let target = self.turn.target();
        if terms.native_to(target, closing).next().is_none() {
            ToolExposure::Withheld
        } else if !closing && self.gate_closed() && terms.tool_transport == ToolTransport::Native {
            ToolExposure::Forced
        } else {
            ToolExposure::Auto
        }
    }

    /// The tags of a request of that turn; slots are those of the turn, so a number is never offered twice.
    pub(super) fn xml_offer(&self, target: usize, closing: bool, turn: u32) -> Option<XmlOffer> {
        let terms = &self.contract;
        let mut exposed = terms.exposed_tools();
        let has_none = !exposed.any(|tool| terms.offers_to(target, tool));
        let slots = match terms.tool_transport {
            ToolTransport::Native => return None,
            ToolTransport::XmlFinal => 0,
            ToolTransport::Xml if closing || has_none => 0,
            ToolTransport::Xml => {
                let calls = u32::try_from(terms.max_tool_calls_per_turn).unwrap_or(u32::MAX);
                calls.min(MAX_SLOTS)
            }
        };
        let turns_before = turn.saturating_sub(1);
        Some(XmlOffer {
            closing,
            first_slot: turns_before.saturating_mul(slots).saturating_add(1),
            genesis: self.genesis,
            slots,
        })
    }
}
