//! Requests to models: how they are sent, and which events their answers are.

use std::sync::Arc;

use super::Workers;
use crate::adapter::xml::transported;
use crate::adapter::{Adapter, Decoded, RequestEncoder, RequestShape};
use crate::driver::DriverError;
use crate::driver::perform::{self, InferenceAnswer};
use crate::driver::recorder::Recorder;
use crate::driver::tasks::Performed;
use crate::kernel::{
    EventKind, InferRequest, InferenceFailed, InferenceReturned, Run, SummaryRequest,
};
use crate::message::TokenCounter;

impl Workers {
    pub(super) fn infer(&mut self, request: InferRequest, run: &Run) {
        let backend = self.backends.get(request.target).cloned();
        let adapter = self.adapters.get_mut(request.target);
        // The machine's target is an index of the contract's targets, and there is one of each for every target.
        if let (Some(backend), Some((adapter, encoder))) = (backend, adapter) {
            let body = encoder.encode(run.conversation(), &RequestShape::from(&request));
            let inference = Performed::Inference(request.inference);
            let asking = perform::infer(
                backend,
                *adapter,
                Arc::clone(&self.contract),
                Arc::clone(&self.redactor),
                request,
                body,
                self.cancel.child_token(),
            );
            self.tasks.spawn(inference, asking);
        }
    }

    /// Asks for the summary of a result that has just come. Its encoder is its own: what the others keep of the conversation stays.
    pub(super) fn summarise(&mut self, asked: SummaryRequest) -> Result<(), DriverError> {
        let target = asked.request.target;
        let Some(backend) = self.backends.get(target).cloned() else {
            return Ok(());
        };
        let adapter = Adapter::of_target(&self.contract, target)?;
        let encoder = RequestEncoder::new(&self.contract, target)?;
        let mut encoder = encoder.begun_at(self.started_unix_ms);
        let whole = self.summable.remove(&asked.full).unwrap_or_default();
        let said = asked.conversation(&String::from_utf8_lossy(&whole));
        let body = encoder.encode(&said, &RequestShape::from(&asked.request));
        let inference = Performed::Inference(asked.request.inference);
        let asking = perform::infer(
            backend,
            adapter,
            Arc::clone(&self.contract),
            Arc::clone(&self.redactor),
            asked.request,
            body,
            self.cancel.child_token(),
        );
        self.tasks.spawn(inference, asking);
        Ok(())
    }
}

/// What an answer is to the machine; the bytes that the event names are kept.
pub(super) fn inference_event(
    answer: InferenceAnswer,
    run: &Run,
    counter: &dyn TokenCounter,
    recorder: &mut Recorder<'_>,
) -> EventKind {
    let raw_hash = answer.raw_hash;
    let redacted = raw_hash.is_some() && answer.raw.is_none();
    let (mut fault, usage) = match answer.response {
        Ok(Decoded::Message(result)) => {
            let asked = (answer.target, answer.adapter);
            let result = transported(*result, answer.xml.as_ref(), run.contract(), asked);
            let usage = result.usage_or_estimate(answer.expected_tokens, counter);
            let is_message = result.canonical_message.is_some();
            let admitted = run.admit(result);
            // A message without a valid call, through a mask that allows nothing else.
            let gate_breached = is_message && admitted.gated;
            if let Some(raw) = answer.raw {
                recorder.keep(raw);
            }
            if let Some(text) = admitted.withheld {
                recorder.keep(text.into_bytes());
            }
            return EventKind::InferenceReturned(Box::new(InferenceReturned {
                gate_breached: answer.closed && gate_breached,
                gated: admitted.gated,
                inference: answer.inference,
                redacted,
                request_hash: answer.request_hash,
                result: admitted.result,
                usage,
            }));
        }
        Ok(Decoded::Fault { fault, usage }) => (fault, usage),
        Err(fault) => (fault.into_provider_fault(), None),
    };
    fault.raw_hash = raw_hash;
    if let Some(raw) = answer.raw {
        recorder.keep(raw);
    }
    EventKind::InferenceFailed(InferenceFailed {
        fault,
        gated: raw_hash.is_some() && run.holds_back(),
        inference: answer.inference,
        redacted,
        request_hash: Some(answer.request_hash),
        usage,
    })
}
