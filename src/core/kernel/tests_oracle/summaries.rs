//! Summaries of results: who is asked, what is asked, and what becomes of the answer.

use super::*;

impl Oracle {
    /// §6: a result that is too large is summarised by a model where that is allowed.
    pub(super) fn summary(&mut self, at: usize, envelope: &ToolEnvelope) -> Reaction {
        let long = envelope.full.is_some() && envelope.status == EnvelopeStatus::Ok;
        let named = self.summarizer().is_some();
        if !long || !named || self.nothing_starts().is_some() {
            return self.rest();
        }
        let (tool, whole, cut) = (&envelope.tool, envelope.bytes_out, envelope.tokens);
        if self.facts.suspended {
            self.facts.batch[at].slot = Slot::Untold((tool.clone(), whole, cut));
            return Reaction::Noted;
        }
        match self.summary_of(at, tool, whole, cut) {
            Some(inference) => Reaction::Summarises(inference),
            None => self.rest(),
        }
    }

    pub(super) fn summarizer(&self) -> Option<usize> {
        let named = self.terms.tool_output_budget.summarizer_model.as_ref()?;
        let target = self.terms.targets.iter().position(|t| t.model == *named)?;
        self.may_ask(target).then_some(target)
    }

    /// Asks for the summary of a result of so many bytes, where the budgets allow it.
    pub(super) fn summary_of(
        &mut self,
        at: usize,
        tool: &str,
        whole: u64,
        cut: u64,
    ) -> Option<u64> {
        let target = self.summarizer()?;
        if self.nothing_starts().is_some() {
            return None;
        }
        let limit = self.terms.tool_output_budget.max_bytes_per_call;
        let head = texts::summary_head(whole, limit).len() as u64 + 1;
        let room = limit - head;
        let expected = (texts::summary_preamble(tool, room).len() as u64 + whole).div_ceil(4);
        // What the next request needs at least is left to it, and what the summaries in flight will use is gone.
        let in_flight = self.prompts_in_flight();
        let next = self.projected(Wish::Turn) + self.results();
        let over = self.facts.inferences + 2 > self.terms.max_inferences
            || self.used() + self.promised() + in_flight + expected + next
                > self.terms.max_tokens_consumed.0
            || expected > self.side_limit(target);
        if over {
            return None;
        }
        self.facts.inferences += 1;
        let inference = self.facts.inferences;
        self.facts.batch[at].slot = Slot::Told {
            inference,
            expected,
            cut,
            whole,
        };
        Some(inference)
    }

    /// A summary came, or none did.
    pub(super) fn summary_ended(
        &mut self,
        inference: u64,
        said: Option<&InferenceReturned>,
    ) -> Reaction {
        let mut waiting = self.facts.batch.iter_mut();
        let waiting =
            waiting.find(|c| matches!(c.slot, Slot::Told { inference: n, .. } if n == inference));
        let Some(call) = waiting.filter(|_| self.facts.place == Place::Tools) else {
            return Reaction::Ignored;
        };
        let Slot::Told { cut, whole, .. } = call.slot else {
            return Reaction::Ignored;
        };
        call.slot = Slot::Result(cut);
        if let Some(said) = said
            && let Some(message) = &said.result.canonical_message
            && said.result.status != AdapterStatus::Rejected
            && said.result.stop == StopReason::End
            && message.tool_calls.is_empty()
            && !message.is_blank()
        {
            let text = message.content.trim();
            let head = texts::summary_head(whole, text.len() as u64);
            let shown = format!("{head}\n{text}");
            let most = self.terms.tool_output_budget.max_bytes_per_call;
            if shown.len() as u64 <= most && estimate(&shown) <= cut {
                call.slot = Slot::Result(estimate(&shown));
            }
        }
        self.rest()
    }
}
