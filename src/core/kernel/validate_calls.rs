//! VALIDATE_CALLS: what a response amounts to. Authorises calls, or says why nothing runs.

use super::OutcomeCode;
use super::batch::{Batch, BatchCall, Part, Settled, Slot};
use super::edges::FromValidateCalls;
use super::guard::{Guard, holds};
use super::judge::{Judged, Judgement, PairVerdict};
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::session::{PROGRESS_ANSWER, Report};
use super::stage::Arrived;
use super::texts::{self, FailedReason};
use super::turn::Failure;
use crate::contract::SessionTool;
use crate::message::{
    AdapterStatus, AgentMessage, FailureCode, ProtocolAdapterResult, StopReason, ToolInvocation,
    Usage, estimate_tokens, excerpt,
};

impl Machine {
    pub(super) fn validate_calls(
        &mut self,
        arrived: &Arrived,
        outbox: &mut Outbox,
    ) -> FromValidateCalls {
        let edge = self.judge_response(arrived, outbox);
        // A message of which nothing runs has not taken them.
        self.discard_early(outbox);
        edge
    }

    fn judge_response(&mut self, arrived: &Arrived, outbox: &mut Outbox) -> FromValidateCalls {
        let Arrived {
            gate_breached,
            ref result,
            usage,
        } = *arrived;
        let plain_texts = std::mem::take(&mut self.plain_texts);
        let recovered = result.status == AdapterStatus::Recovered && self.contract.strict_mode;
        let recovered = holds(Guard::StrictRecovered, recovered);
        let rejected = result.status == AdapterStatus::Rejected;
        let has_text = !result.withheld.is_none_or(|w| w.blank)
            || result
                .canonical_message
                .as_ref()
                .is_some_and(|m| !m.is_blank());
        // A message that asks for a tool was let through the mask, whatever is wrong with the call.
        let asks = result
            .canonical_message
            .as_ref()
            .is_some_and(|m| !self.units(m).is_empty());
        let breached = gate_breached && self.gate_closed() && !asks;
        if holds(Guard::GateBreached, breached) {
            self.verdict = Verdict::Violation(OutcomeCode::TokenGate);
            return FromValidateCalls::Commit;
        }
        let (stop, message) = match result.canonical_message {
            Some(ref message) if !rejected && !recovered => (result.stop, message.clone()),
            Some(_) | None => return self.reject_structure(result, recovered, outbox),
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
        let is_unknown =
            stop == StopReason::Unknown && !self.stands_with_any_stop(&message, has_text);
        if holds(Guard::UnknownStop, is_unknown) {
            outbox.note = Some(texts::unknown_stop(result.stop_word.as_deref()));
            return self.fail(Failure::UnknownStop);
        }
        if message.tool_calls.is_empty() {
            return self.judge_text(message, usage, stop, has_text, plain_texts, outbox);
        }
        if self.report_cut(&message, stop) && holds(Guard::CutResponse, true) {
            return self.fail_cut(outbox);
        }
        let edge = self.judge_calls(message, usage, stop, has_text, outbox);
        self.warn_of_open_report(&result.tag_warnings);
        edge
    }

    pub(super) fn fail_cut(&mut self, outbox: &mut Outbox) -> FromValidateCalls {
        self.notices.push(texts::cut_notice());
        outbox.note = Some("cut at the output limit".to_owned());
        self.fail(Failure::Cut)
    }

    pub(super) fn fail(&mut self, failure: Failure) -> FromValidateCalls {
        self.verdict = Verdict::Failed(failure);
        FromValidateCalls::Commit
    }

    fn reject_structure(
        &mut self,
        result: &ProtocolAdapterResult,
        recovered: bool,
        outbox: &mut Outbox,
    ) -> FromValidateCalls {
        let code = if recovered {
            FailureCode::RecoveredInStrict
        } else {
            result.failure_code.unwrap_or(FailureCode::MessageShape)
        };
        let pointer = result.pointer.as_deref().unwrap_or("/");
        let excerpt = match &result.repair {
            Some(repair) if recovered => Some(excerpt(&repair.original, 0)),
            _ => result.excerpt.clone(),
        };
        let excerpt = excerpt.filter(|_| !self.gate_closed());
        let notice = texts::rejection_notice(code.as_str(), pointer, excerpt.as_deref());
        self.notices.push(notice);
        outbox.note = Some(format!("rejected: {code} at {pointer}"));
        self.fail(Failure::Rejected)
    }

    /// A response with calls.
    fn judge_calls(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        stop: StopReason,
        has_text: bool,
        outbox: &mut Outbox,
    ) -> FromValidateCalls {
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
            _ if closing && self.wants_report() => {
                self.judge_closing(message, usage, has_text, outbox);
            }
            _ if closing => {
                let fits = self.judge_form(&message.content).is_ok();
                self.accept_unstarted(message, usage, &FailedReason::Withheld);
                self.verdict = match (has_text, fits) {
                    (true, true) => Verdict::Terminal,
                    (true, false) => Verdict::Failed(Failure::Report),
                    (false, _) => Verdict::Failed(Failure::WithheldCalls),
                };
            }
            Judgement::Violation(code) => {
                self.record_violation(code, &message, outbox);
                self.accept_unstarted(message, usage, &FailedReason::NotStartedCutShort);
                self.verdict = Verdict::Violation(code);
            }
            Judgement::Limit(code) => {
                self.accept_unstarted(message, usage, &FailedReason::NotStartedCutShort);
                self.verdict = Verdict::Limit(code);
            }
            Judgement::Calls(_) | Judgement::Invalid(_) if self.head_decides() => {
                self.accept_unstarted(message, usage, &FailedReason::NotStartedCutShort);
                self.verdict = Verdict::Advanced;
            }
            Judgement::Calls(_)
                if self.units(&message).is_empty()
                    && self.report_unproven(&message)
                    && holds(Guard::ReportProof, true) =>
            {
                self.notices.push(texts::unproven_notice());
                outbox.note = Some("a final report that nothing proves".to_owned());
                return self.fail(Failure::Prose);
            }
            Judgement::Calls(judged) if holds(Guard::StopStartsNothing, self.stop_requested) => {
                let answers = vec![FailedReason::NotStartedStop; judged.len()];
                let calls = self.take_unstarted(message, usage, answers, outbox);
                self.observe_calls(calls);
                self.advanced();
            }
            Judgement::Invalid(answers) if holds(Guard::StopStartsNothing, self.stop_requested) => {
                let answers = vec![FailedReason::NotStartedStop; answers.len()];
                let calls = self.take_refused(message, usage, answers);
                self.observe_calls(calls);
                self.advanced();
            }
            Judgement::Invalid(answers) => {
                self.count_refused(&message, answers.iter().map(Some), outbox);
                let calls = self.take_refused(message, usage, answers);
                self.observe_calls(calls);
                self.advanced();
            }
            Judgement::Calls(judged) => {
                return self.authorise(message, usage, judged, outbox);
            }
        }
        FromValidateCalls::Commit
    }

    /// The message enters the conversation; what it used is the new base of the context account.
    pub(super) fn accept(&mut self, mut message: AgentMessage, usage: Usage) {
        self.inference_succeeded = true;
        self.context.commit(usage.total());
        message.tokens = usage.output;
        self.conversation.begin_answer(self.turn.number);
        self.push(message);
    }

    /// The message enters the conversation and none of its calls is started; each is answered with the reason.
    fn accept_unstarted(&mut self, message: AgentMessage, usage: Usage, reason: &FailedReason) {
        let ids: Vec<String> = message.tool_calls.iter().map(|c| c.id.clone()).collect();
        self.accept(message, usage);
        for id in ids {
            self.answer(id, &reason.observation());
        }
    }

    /// Counts a turn of which no call is authorised, at least one of them for its name or its arguments; each such call is in
    /// the entry, and so is one that a rule of the contract denies.
    fn count_refused<'a>(
        &mut self,
        message: &AgentMessage,
        answers: impl Iterator<Item = Option<&'a FailedReason>> + Clone,
        outbox: &mut Outbox,
    ) {
        let units = self.units(message);
        let mut invalid = false;
        let refused = units.iter().zip(answers.clone());
        let refused = refused.filter_map(|(unit, answer)| {
            let answer = answer.filter(|answer| answer.is_invalid() || answer.is_by_rule())?;
            invalid |= answer.is_invalid();
            Some(answer.refusal_note(&unit.invocation.name))
        });
        let refused: Vec<String> = refused.collect();
        if !refused.is_empty() {
            outbox.note = Some(refused.join("; "));
        }
        let mut answers = answers;
        if invalid && answers.all(|answer| answer.is_some()) {
            self.invalid_turns = self.invalid_turns.saturating_add(1);
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
        judged: Vec<Judged>,
        outbox: &mut Outbox,
    ) -> FromValidateCalls {
        self.count_refused(&message, judged.iter().map(Judged::answer), outbox);
        let answers: Vec<_> = judged.iter().map(|one| one.answer().cloned()).collect();
        self.record_flows(&message, &answers, outbox);
        let early = self.take_early(&message, &judged, outbox);
        let place = |machine: &mut Self, call: &ToolInvocation, judged| machine.slot(call, judged);
        let mut calls = self.take_calls(message, usage, judged, outbox, place);
        for call in &mut calls {
            if let Slot::Pending(seq) = call.slot
                && early.contains(&seq)
            {
                call.slot = Slot::Running(seq);
            }
        }
        let mut batch = Batch {
            share: self.share_among(&calls),
            calls,
            ending: false,
            unwanted: Vec::new(),
        };
        self.start_next(&mut batch, outbox);
        // Where every call is answered without starting one.
        if let Some(ended) = batch.settled() {
            self.observe_calls(ended.calls);
            self.advanced();
            return FromValidateCalls::Commit;
        }
        FromValidateCalls::Execute(batch)
    }

    /// The turn is over, unless what was observed says more.
    fn advanced(&mut self) {
        if self.verdict == Verdict::None {
            self.verdict = Verdict::Advanced;
        }
    }

    /// The closing turn of a run that reports: the report counts, nothing else does; without one, text may stand in for it.
    fn judge_closing(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        has_text: bool,
        outbox: &mut Outbox,
    ) {
        let reported = self.reports(&message);
        let text = message.content.clone();
        let answers = vec![FailedReason::Withheld; self.units(&message).len()];
        let calls = self.take_unstarted(message, usage, answers, outbox);
        self.observe_calls(calls);
        if self.verdict == Verdict::Terminal {
            return;
        }
        let stands_in = !reported && has_text && self.take_text(&text).is_ok();
        self.verdict = if stands_in {
            Verdict::Terminal
        } else if reported || has_text {
            Verdict::Failed(Failure::Report)
        } else {
            Verdict::Failed(Failure::WithheldCalls)
        };
    }

    /// Takes the message's calls with their answers, and keeps its report until that is given.
    fn take_unstarted(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        answers: Vec<FailedReason>,
        outbox: &mut Outbox,
    ) -> Vec<BatchCall<Settled>> {
        let place = |_: &mut Self, _: &ToolInvocation, answer| Settled::Answered(answer);
        self.take_calls(message, usage, answers, outbox, place)
    }

    /// Takes the calls of a message of which nothing runs: each has its answer, and those of the session's own tools are not taken,
    /// a report included.
    fn take_refused(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        answers: Vec<FailedReason>,
    ) -> Vec<BatchCall<Settled>> {
        self.report = Report::None;
        let place = |_: &mut Self, _: &ToolInvocation, answer| Settled::Answered(answer);
        let own = |machine: &mut Self, call: &ToolInvocation| {
            let own = machine.contract.session_tool(&call.name)?;
            (own != SessionTool::Batch).then_some(FailedReason::NotStartedInvalid.into())
        };
        let calls = self.place_calls(&message, answers, place, own);
        self.accept(message, usage);
        calls
    }

    /// Takes the message's calls: `place` puts each where it stands, and the report is kept until the others have ended.
    fn take_calls<A, S: From<Settled>>(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        answers: Vec<A>,
        outbox: &mut Outbox,
        place: impl Fn(&mut Self, &ToolInvocation, A) -> S,
    ) -> Vec<BatchCall<S>> {
        self.report = self.report_of(&message);
        if let Report::Held(report) = &self.report
            && !report.warnings.is_empty()
        {
            outbox.note = Some(report.warnings.join("; "));
        }
        let own = |machine: &mut Self, call: &ToolInvocation| machine.own_slot(call, outbox);
        let calls = self.place_calls(&message, answers, place, own);
        self.accept(message, usage);
        calls
    }

    /// Puts each call where it stands: those that may run by `place`, those of the session's own tools by `own`.
    fn place_calls<A, S: From<Settled>>(
        &mut self,
        message: &AgentMessage,
        answers: Vec<A>,
        place: impl Fn(&mut Self, &ToolInvocation, A) -> S,
        mut own: impl FnMut(&mut Self, &ToolInvocation) -> Option<Settled>,
    ) -> Vec<BatchCall<S>> {
        let mut calls = Vec::with_capacity(answers.len());
        let units = self.units(message);
        let mut judged = units.into_iter().zip(answers).peekable();
        for (nth, call) in message.tool_calls.iter().enumerate() {
            if let Some(settled) = own(self, call) {
                calls.push(BatchCall {
                    arguments_hash: call.arguments.digest(),
                    delegated: None,
                    input: None,
                    invocation: call.clone(),
                    part: None,
                    questions: 0,
                    returned_in: 0,
                    slot: settled.into(),
                });
            }
            while let Some((unit, answer)) = judged.next_if(|(unit, _)| unit.call == nth) {
                let slot = place(self, &unit.invocation, answer);
                calls.push(BatchCall {
                    arguments_hash: unit.invocation.arguments.digest(),
                    delegated: self.delegated(&unit.invocation.name),
                    input: None,
                    part: unit.part.map(|label| Part {
                        container: call.id.clone(),
                        label,
                    }),
                    invocation: unit.invocation.into_owned(),
                    questions: 0,
                    returned_in: 0,
                    slot,
                });
            }
        }
        calls
    }

    /// Returns the slot of a call to one of the session's own tools; `None` for every other call, and for a container.
    fn own_slot(&self, call: &ToolInvocation, outbox: &mut Outbox) -> Option<Settled> {
        match self.contract.session_tool(&call.name)? {
            SessionTool::Batch => None,
            SessionTool::FinalReport => Some(Settled::Report),
            SessionTool::ProgressReport if self.closing.is_some() => {
                Some(Settled::Answered(FailedReason::Withheld))
            }
            SessionTool::ProgressReport => Some(match self.progress_of(call) {
                Ok(progress) => {
                    outbox.note = Some(format!("progress: {progress}"));
                    Settled::Acknowledged(PROGRESS_ANSWER.to_owned())
                }
                Err(reason) => Settled::Answered(reason),
            }),
        }
    }

    /// Authorises a call that has no answer.
    fn slot(&mut self, invocation: &ToolInvocation, judged: Judged) -> Slot {
        let asked_by = match judged {
            Judged::Answered(reason) => return Settled::Answered(reason).into(),
            Judged::IsAsked(rule) => Some(rule),
            Judged::Runs => None,
        };
        let trace = self.history.clone_for_cycles();
        let excepted = self.pair_allowed(&trace, &invocation.name) == PairVerdict::Excepted;
        self.history.authorise(invocation, excepted);
        self.counters.calls = self.counters.calls.saturating_add(1);
        self.gate_open = true;
        self.invalid_turns = 0;
        let call = self.last_call();
        asked_by.map_or(Slot::Pending(call), |rule| Slot::ToAsk(call, rule))
    }
}
