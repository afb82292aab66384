//! Summaries (semantics §6): a model may summarise a result that would else be cut. One request, never repeated;
//! whatever goes wrong with it, the cut stands.

use super::batch::{Batch, Shown};
use super::commit::Next;
use super::context::side_limit;
use super::machine::Machine;
use super::outbox::Outbox;
use super::texts::{summary_head, summary_preamble};
use super::{InferenceReturned, SummaryRequest};
use crate::message::{
    AdapterStatus, CallSeq, EnvelopeStatus, InferenceSeq, StopReason, ToolEnvelope,
    estimate_tokens, exact_sum, is_blank,
};

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

impl Machine {
    /// Asks for a summary of a result that is too large, where the contract names who makes it and nothing forbids another
    /// request. `in_flight` are the prompts that are waited for already.
    pub(super) fn summarise(
        &mut self,
        call: CallSeq,
        envelope: &ToolEnvelope,
        in_flight: &[(usize, u64)],
        outbox: &mut Outbox,
    ) -> Option<InferenceSeq> {
        let terms = &self.contract;
        let (target, full) = (terms.summarizer()?, envelope.full?);
        if !self.summarises(envelope) {
            return None;
        }
        let (room_bytes, expected_tokens) = self.room_and_prompt(envelope);
        if room_bytes == 0
            || expected_tokens > side_limit(terms, target)
            || self.leaves_no_next(target, in_flight, expected_tokens)
        {
            return None;
        }
        let request = self.side_request(target, expected_tokens);
        let inference = request.inference;
        outbox.summarise(SummaryRequest {
            call,
            full,
            request,
            room_bytes,
            tool: envelope.tool.clone(),
        });
        Some(inference)
    }

    /// True if a model is to summarise this result, budgets permitting.
    pub(super) fn summarises(&self, envelope: &ToolEnvelope) -> bool {
        let target = self.contract.summarizer();
        target.is_some_and(|target| self.may_ask(target))
            && envelope.full.is_some()
            && envelope.status == EnvelopeStatus::Ok
            && !self.nothing_starts()
    }

    /// The prompts of the inferences that are waited for: which target is asked, and their tokens.
    pub(super) fn prompts_in_flight(&self, batch: &Batch) -> Vec<(usize, u64)> {
        let target = |inference| self.asked.get(&inference).copied().unwrap_or_default();
        let summaries = batch.in_summary();
        let summaries = summaries
            .map(|(inference, envelope)| (target(inference), self.room_and_prompt(envelope).1));
        let samplings = batch.in_sampling().into_iter();
        let samplings = samplings.map(|(inference, bytes)| (target(inference), bytes.div_ceil(4)));
        summaries.chain(samplings).collect()
    }

    /// Returns the maximum bytes of a result's summary, and the tokens of the prompt that asks for it.
    fn room_and_prompt(&self, envelope: &ToolEnvelope) -> (u64, u64) {
        let most = self.contract.tool_output_budget.max_bytes_per_call;
        let head = length(&summary_head(envelope.bytes_out, most)).saturating_add(1);
        let room = most.saturating_sub(head);
        let bytes =
            length(&summary_preamble(&envelope.tool, room)).saturating_add(envelope.bytes_out);
        (room, bytes.div_ceil(4))
    }

    /// True if an inference with that prompt would use budget that the next request needs at least, or that is in flight. A
    /// summary or a server's request is a convenience: the run must be able to continue without it.
    pub(super) fn leaves_no_next(
        &self,
        target: usize,
        in_flight: &[(usize, u64)],
        prompt: u64,
    ) -> bool {
        let terms = &self.contract;
        // Each has its own price, since a price is rounded.
        let prompts = in_flight.iter().copied().chain([(target, prompt)]);
        let next = || (self.next_target(Next::Turn), self.projected(Next::Turn));
        let next = terms.asks_model().then(next);
        let asked = 1 + u64::from(next.is_some());
        let (requests, least) =
            prompts
                .chain(next)
                .fold((0, 0), |(tokens, cost), (target, prompt)| {
                    let (most_tokens, most_cost) = self.reserved_for(target, prompt);
                    (exact_sum(tokens, most_tokens), exact_sum(cost, most_cost))
                });
        let inferences = self.counters.inferences.saturating_add(asked);
        // What runs below may still use is spoken for.
        let (tokens, cost) = self.reserved();
        let tokens = exact_sum(self.counters.tree_tokens(), tokens);
        let cost = exact_sum(self.counters.tree_cost_micro_usd(), cost);
        let tokens = exact_sum(tokens, requests);
        let cost = exact_sum(cost, least);
        inferences > terms.max_inferences
            || tokens > terms.max_tokens_consumed.0
            || terms.max_cost_micro_usd.is_some_and(|max| cost > max.0)
    }

    /// A summary came: it stands instead of the cut where it is whole, fits, and weighs no more. False where none with that
    /// number is waited for.
    pub(super) fn take_summary(&mut self, batch: &mut Batch, returned: &InferenceReturned) -> bool {
        let most = self.contract.tool_output_budget.max_bytes_per_call;
        let came = batch.end_summary(returned.inference, |envelope| {
            let Some((text, tokens)) = summary_of(envelope, returned, most) else {
                return Shown::Cut;
            };
            // The cut was counted when the result came.
            let others = self.context.new.saturating_sub(envelope.tokens);
            self.context.new = exact_sum(others, tokens);
            Shown::Summary { text, tokens }
        });
        if came {
            self.has_answered(returned.inference);
            self.count_usage(returned.inference, &returned.usage);
        }
        came
    }
}

/// The text that stands for a result of at most `most` bytes, and its tokens; `None` if the cut is better.
fn summary_of(
    envelope: &ToolEnvelope,
    returned: &InferenceReturned,
    most: u64,
) -> Option<(String, u64)> {
    let summary = whole_text(returned)?;
    let head = summary_head(envelope.bytes_out, length(summary));
    let text = format!("{head}\n{summary}");
    let tokens = estimate_tokens(&text);
    (length(&text) <= most && tokens <= envelope.tokens).then_some((text, tokens))
}

/// The summary in a response, without the white space around it; `None` if it is no whole text.
fn whole_text(returned: &InferenceReturned) -> Option<&str> {
    let result = &returned.result;
    let whole = result.stop == StopReason::End;
    let message = result.canonical_message.as_ref()?;
    let sound = result.status != AdapterStatus::Rejected && message.tool_calls.is_empty();
    let text = message.content.trim();
    (whole && sound && !is_blank(text)).then_some(text)
}
