//! VALIDATE_CALLS: what a response amounts to. Authorises calls, or says why nothing runs.

use super::OutcomeCode;
use super::batch::{Batch, BatchCall, Slot};
use super::edges::{FromValidateCalls, Reply};
use super::guard::{Guard, holds};
use super::judge::{Judgement, PairVerdict};
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::texts::{self, FailedReason};
use super::turn::{Failure, Rejection};
use crate::message::{
    AdapterStatus, AgentMessage, CallSeq, FailureCode, ProtocolAdapterResult, StopReason, Usage,
    estimate_tokens,
};

impl Machine {
    pub(super) fn validate_calls(&mut self, outbox: &mut Outbox) -> Reply<FromValidateCalls> {
        // INFER enters this state only with a response; without one there is nothing to execute.
        let Some((result, usage, gate_breached)) = self.arrived.take() else {
            return Reply::Go(FromValidateCalls::Commit);
        };
        let recovered = result.status == AdapterStatus::Recovered && self.contract.strict_mode;
        let recovered = holds(Guard::StrictRecovered, recovered);
        let rejected = result.status == AdapterStatus::Rejected;
        let has_text = !result.withheld.is_none_or(|w| w.blank)
            || result
                .canonical_message
                .as_ref()
                .is_some_and(|m| !m.is_blank());
        if holds(Guard::GateBreached, gate_breached && self.gate_closed()) {
            self.verdict = Verdict::Violation(OutcomeCode::TokenGate);
            return Reply::Go(FromValidateCalls::Commit);
        }
        let (stop, message) = match result.canonical_message {
            Some(ref message) if !rejected && !recovered => (result.stop, message.clone()),
            Some(_) | None => return self.reject_structure(&result, recovered, outbox),
        };
        let refused = match stop {
            StopReason::Refusal => Some(OutcomeCode::Refusal),
            StopReason::ContentFilter => Some(OutcomeCode::ContentFilter),
            StopReason::End | StopReason::Length | StopReason::Unknown => None,
        };
        if let Some(code) = refused
            && holds(Guard::RefusedResponse, !self.violates_by_asking(&message))
        {
            outbox.note = Some(format!("refused: {code}"));
            return self.fail(Failure::Refused(code));
        }
        if message.tool_calls.is_empty() {
            return self.judge_text(message, usage, stop, has_text, outbox);
        }
        self.judge_calls(message, usage, stop, has_text, outbox)
    }

    /// Whether the mere request of these calls breaks the contract: then a refusal beside it does not excuse it.
    fn violates_by_asking(&self, message: &AgentMessage) -> bool {
        match self.judge(message) {
            Judgement::Violation(OutcomeCode::ForbiddenCall) => true,
            Judgement::Violation(OutcomeCode::ToolNotAllowed) => self.closing.is_none(),
            Judgement::Violation(_)
            | Judgement::Rejected { .. }
            | Judgement::Limit(_)
            | Judgement::Calls(_) => false,
        }
    }

    fn fail(&mut self, failure: Failure) -> Reply<FromValidateCalls> {
        self.verdict = Verdict::Failed(failure);
        Reply::Go(FromValidateCalls::Commit)
    }

    fn reject_structure(
        &mut self,
        result: &ProtocolAdapterResult,
        recovered: bool,
        outbox: &mut Outbox,
    ) -> Reply<FromValidateCalls> {
        let code = if recovered {
            FailureCode::RecoveredInStrict
        } else {
            result.failure_code.unwrap_or(FailureCode::BodyShape)
        };
        let pointer = result.pointer.as_deref().unwrap_or("/");
        self.notices
            .push(texts::rejection_notice(code.as_str(), pointer));
        outbox.note = Some(format!("rejected: {code} at {pointer}"));
        self.fail(Failure::Rejected(Rejection::Structural))
    }

    /// A response without calls.
    fn judge_text(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        stop: StopReason,
        has_text: bool,
        outbox: &mut Outbox,
    ) -> Reply<FromValidateCalls> {
        if has_text && holds(Guard::CutResponse, stop == StopReason::Length) {
            self.notices.push(texts::cut_notice());
            outbox.note = Some("cut at the output limit".to_owned());
            return self.fail(Failure::Cut);
        }
        if has_text {
            self.accept(message, usage);
            self.verdict = Verdict::Terminal;
        } else if message.has_reasoning() {
            self.accept(message, usage);
            self.verdict = Verdict::Advanced;
        } else if holds(Guard::BlankResponse, true) {
            self.notices.push(texts::blank_notice());
            outbox.note = Some("empty".to_owned());
            return self.fail(Failure::Blank);
        } else {
            self.accept(message, usage);
            self.verdict = Verdict::Terminal;
        }
        Reply::Go(FromValidateCalls::Commit)
    }

    /// A response with calls.
    fn judge_calls(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        stop: StopReason,
        has_text: bool,
        outbox: &mut Outbox,
    ) -> Reply<FromValidateCalls> {
        let judgement = self.judge(&message);
        let closing = holds(Guard::ClosingWithholds, self.closing.is_some());
        match judgement {
            Judgement::Violation(OutcomeCode::ForbiddenCall) => {
                self.accept_unstarted(message, usage, &FailedReason::NotStartedCutShort);
                self.verdict = Verdict::Violation(OutcomeCode::ForbiddenCall);
            }
            _ if closing && has_text && stop == StopReason::Length => {
                self.notices.push(texts::cut_notice());
                return self.fail(Failure::Cut);
            }
            _ if closing => {
                self.accept_unstarted(message, usage, &FailedReason::Withheld);
                self.verdict = if has_text {
                    Verdict::Terminal
                } else {
                    Verdict::Failed(Failure::WithheldCalls)
                };
            }
            Judgement::Violation(code) => {
                self.accept_unstarted(message, usage, &FailedReason::NotStartedCutShort);
                self.verdict = Verdict::Violation(code);
            }
            Judgement::Rejected {
                code,
                pointer,
                detail,
            } => {
                outbox.note = Some(format!("rejected: {code} at {pointer}: {detail}"));
                self.notices.push(texts::rejection_notice(code, &pointer));
                return self.fail(Failure::Rejected(Rejection::Arguments));
            }
            Judgement::Limit(code) => {
                self.accept_unstarted(message, usage, &FailedReason::NotStartedCutShort);
                self.verdict = Verdict::Limit(code);
            }
            Judgement::Calls(_) if self.head_decides() => {
                self.accept_unstarted(message, usage, &FailedReason::NotStartedCutShort);
                self.verdict = Verdict::Advanced;
            }
            Judgement::Calls(_) if holds(Guard::StopStartsNothing, self.stop_requested) => {
                self.accept_unstarted(message, usage, &FailedReason::NotStartedStop);
                self.verdict = Verdict::Advanced;
            }
            Judgement::Calls(answers) => {
                return self.authorise(message, usage, answers, outbox);
            }
        }
        Reply::Go(FromValidateCalls::Commit)
    }

    /// The message enters the conversation; what it used is the new base of the context account.
    fn accept(&mut self, mut message: AgentMessage, usage: Usage) {
        self.inference_succeeded = true;
        self.context.commit(usage.total());
        message.tokens = usage.output;
        self.conversation.push(message);
    }

    /// The message enters the conversation and none of its calls is started; each is answered with the reason.
    fn accept_unstarted(&mut self, message: AgentMessage, usage: Usage, reason: &FailedReason) {
        let ids: Vec<String> = message.tool_calls.iter().map(|c| c.id.clone()).collect();
        self.accept(message, usage);
        for id in ids {
            self.answer(id, &reason.observation());
        }
    }

    /// Answers a call in the machine's own words.
    pub(super) fn answer(&mut self, id: String, text: &str) {
        self.append_pending(AgentMessage::observation(id, text, estimate_tokens(text)));
    }

    fn authorise(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        answers: Vec<Option<FailedReason>>,
        outbox: &mut Outbox,
    ) -> Reply<FromValidateCalls> {
        let mut calls = Vec::with_capacity(answers.len());
        for (invocation, answer) in message.tool_calls.iter().zip(answers) {
            let slot = if let Some(reason) = answer {
                Slot::Answered(reason)
            } else {
                let trace = self.history.clone_for_cycles();
                let excepted = self.pair_allowed(&trace, &invocation.name) == PairVerdict::Excepted;
                self.history.authorise(invocation, excepted);
                self.counters.calls = self.counters.calls.saturating_add(1);
                self.gate_open = true;
                Slot::Pending(CallSeq(self.counters.calls))
            };
            calls.push(BatchCall {
                arguments_hash: invocation.arguments.digest(),
                invocation: invocation.clone(),
                slot,
            });
        }
        self.accept(message, usage);
        self.batch = Batch { calls };
        if self.batch.has_pending() {
            self.start_next(outbox);
            return Reply::Go(FromValidateCalls::Execute);
        }
        // Every call was answered without starting one.
        self.observe_batch();
        self.verdict = Verdict::Advanced;
        Reply::Go(FromValidateCalls::Commit)
    }
}
