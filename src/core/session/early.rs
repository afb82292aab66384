//! Calls that start before their message is complete (semantics §7). The machine decides which may start.

use super::error::SessionError;
use super::scrub::Scrub;
use super::whole_run::Session;
use crate::contract::WireNames;
use crate::kernel::{CallStreamed, EventKind, LostEffect};
use crate::message::{CallSeq, InferenceSeq};

impl Session {
    /// Raises an event for each call that is whole in the arrived part of a response, and that the machine starts now.
    pub(super) fn calls_streamed(
        &mut self,
        at_ms: u64,
        inference: InferenceSeq,
    ) -> Result<(), SessionError> {
        while let Some(streamed) = self.next_streamed(inference) {
            self.happened(at_ms, EventKind::CallStreamed(Box::new(streamed)))?;
        }
        Ok(())
    }

    /// Returns the next call of a response that starts before its message is complete. A call that shows a secret
    /// does not start: the message decides what is left of it.
    fn next_streamed(&mut self, inference: InferenceSeq) -> Option<CallStreamed> {
        if !(self.driven && self.contract.speculative_exec) {
            return None;
        }
        let at = self.run()?.early_calls().len();
        let in_flight = self.requests.get_mut(inference)?;
        if in_flight.issued.is_beside || !in_flight.issued.releases() {
            return None;
        }
        let mut call = in_flight.partial.as_mut()?.call(at)?;
        let names = WireNames::of(&self.contract);
        let name = names.own(&call.name).to_owned();
        call.name = name;
        let scrubber = self.scrubber.as_deref();
        if scrubber.is_some_and(|scrubber| !Scrub(scrubber).leaves(&call)) {
            return None;
        }
        let streamed = CallStreamed {
            index: u64::try_from(at).ok()?,
            inference,
            invocation: call,
        };
        self.run()?.starts_early(&streamed).then_some(streamed)
    }

    /// Keeps the end of a call until its message is complete; returns any other event.
    pub(super) fn unless_early(&mut self, event: EventKind) -> Option<EventKind> {
        let ended = match &event {
            EventKind::ToolReturned(returned) => returned.call,
            EventKind::EffectLost(LostEffect::Call(call)) => *call,
            _ => return Some(event),
        };
        if !self.is_early(ended) {
            return Some(event);
        }
        self.early_ends.push(event);
        None
    }

    fn is_early(&self, call: CallSeq) -> bool {
        let run = self.run();
        run.is_some_and(|run| run.early_calls().any(|early| early == call))
    }

    /// Raises the ends of calls that were kept, once their message is complete or given up.
    pub(super) fn release_early(&mut self, at_ms: u64) -> Result<(), SessionError> {
        let run = self.run();
        if run.is_some_and(|run| run.early_calls().next().is_some()) {
            return Ok(());
        }
        for event in std::mem::take(&mut self.early_ends) {
            self.happened(at_ms, event)?;
        }
        Ok(())
    }
}
