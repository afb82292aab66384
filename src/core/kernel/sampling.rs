//! Inferences that the server of a call requests (semantics §6): one request to the target that the contract grants it, never
//! an attempt. If one fails for any reason, the server gets a refusal and its call continues.

use serde_json::json;

use super::batch::{Batch, BatchCall, Settled, Slot};
use super::context::side_limit;
use super::edges::{FromExecute, Reply};
use super::guard::{Guard, holds};
use super::machine::Machine;
use super::outbox::Outbox;
use super::texts::FailedReason;
use super::{GivenInput, InferenceReturned, SampleRequest};
use crate::message::{
    AdapterStatus, CallSeq, InferenceSeq, ObjectText, SamplingRequest, StopReason, is_blank,
};

impl Batch {
    /// Returns the inferences in flight for servers, each with the bytes of its prompt.
    pub(super) fn in_sampling(&self) -> Vec<(InferenceSeq, u64)> {
        let of_calls = self.calls.iter().filter_map(|call| {
            let Slot::Sampling {
                asked, inference, ..
            } = &call.slot
            else {
                return None;
            };
            Some((*inference, asked.bytes))
        });
        of_calls.chain(self.unwanted.iter().copied()).collect()
    }

    /// True if that inference is in flight for a server.
    pub(super) fn awaits_sample(&self, inference: InferenceSeq) -> bool {
        let in_flight = self.in_sampling();
        in_flight.iter().any(|(awaited, _)| *awaited == inference)
    }

    /// The server of a call did not wait for what a model was asked: that inference is waited for all the same, since what it uses
    /// counts. A call that the server is given the answer to later is not left by that.
    pub(super) fn leave_sampling(&mut self, call: CallSeq) {
        let left = self.calls.iter_mut().find_map(|one| {
            let Slot::Sampling {
                asked,
                call: seq,
                inference,
            } = &one.slot
            else {
                return None;
            };
            let left = (*inference, asked.bytes);
            let waits = *seq == call && asked.resume.is_none();
            waits.then(|| {
                one.slot = Slot::Running(call);
                left
            })
        });
        self.unwanted.extend(left);
    }

    /// The call whose server waits for that inference.
    fn sampling(&mut self, inference: InferenceSeq) -> Option<&mut BatchCall<Slot>> {
        self.calls.iter_mut().find(
            |c| matches!(&c.slot, Slot::Sampling { inference: awaited, .. } if *awaited == inference),
        )
    }
}

impl Machine {
    /// Handles a call whose server wants a model to be asked. `in_flight` holds the prompts of other awaited inferences.
    pub(super) fn sampling_required(
        &mut self,
        call: &mut BatchCall<Slot>,
        (seq, asked): (CallSeq, &SamplingRequest),
        in_flight: &[(usize, u64)],
        outbox: &mut Outbox,
    ) -> &'static str {
        let asked = Box::new(asked.clone());
        if holds(Guard::Suspended, self.suspended) {
            if asked.resume.is_none() {
                // The call waits in the process that leaves: it ends there, or is lost with it.
                call.slot = Slot::Running(seq);
                return "the server of a call wants a model to be asked, but its process leaves";
            }
            call.slot = Slot::Unsampled { asked, call: seq };
            return "the server of a call wants a model to be asked once the run is resumed";
        }
        let inference = self.sample(&call.invocation.name, seq, &asked, in_flight, outbox);
        let Some(inference) = inference else {
            self.goes_on(call, seq, asked.resume, None, outbox);
            return "no model is asked for the server of a call";
        };
        call.slot = Slot::Sampling {
            asked,
            call: seq,
            inference,
        };
        "the server of a call wants a model to be asked"
    }

    /// Asks for it, where the contract grants it and the run can go on after it.
    fn sample(
        &mut self,
        tool: &str,
        call: CallSeq,
        asked: &SamplingRequest,
        in_flight: &[(usize, u64)],
        outbox: &mut Outbox,
    ) -> Option<InferenceSeq> {
        let terms = &self.contract;
        let target = terms.sampler(tool)?;
        let expected_tokens = asked.bytes.div_ceil(4);
        if !self.may_ask(target)
            || expected_tokens > side_limit(terms, target)
            || self.leaves_no_next(target, in_flight, expected_tokens)
        {
            return None;
        }
        let request = self.side_request(target, expected_tokens);
        let inference = request.inference;
        outbox.sample(SampleRequest {
            call,
            max_tokens: asked.max_tokens,
            prompt: asked.prompt,
            request,
        });
        Some(inference)
    }

    /// A response came: the server that wanted it gets it. `None` if no server waits for that inference.
    pub(super) fn take_sample(
        &mut self,
        batch: &mut Batch,
        returned: &InferenceReturned,
        outbox: &mut Outbox,
    ) -> Option<Reply<FromExecute>> {
        if !batch.awaits_sample(returned.inference) {
            return None;
        }
        self.has_answered(returned.inference);
        self.count_usage(returned.inference, &returned.usage);
        let target = self.asked.get(&returned.inference);
        let target = target.and_then(|target| self.contract.targets.get(*target));
        let model = target.map_or("", |target| target.model.as_str());
        let content = sampled(returned, model);
        self.end_sample(batch, returned.inference, content, outbox)
    }

    /// Ends a server's model request with or without an answer. Returns `None` if no server waits for that inference.
    pub(super) fn end_sample(
        &mut self,
        batch: &mut Batch,
        inference: InferenceSeq,
        content: Option<ObjectText>,
        outbox: &mut Outbox,
    ) -> Option<Reply<FromExecute>> {
        let unwanted = batch.unwanted.iter();
        if let Some(at) = unwanted.map(|(of, _)| *of).position(|of| of == inference) {
            batch.unwanted.remove(at);
            let note = "a model was asked for a server that did not wait";
            return Some(self.go_on(batch, outbox, note));
        }
        let nothing_starts = self.nothing_starts();
        let call = batch.sampling(inference)?;
        let Slot::Sampling {
            asked, call: seq, ..
        } = &call.slot
        else {
            return None;
        };
        let (seq, resume) = (*seq, asked.resume.clone());
        if nothing_starts {
            call.slot = Settled::Answered(FailedReason::EffectUnknown).into();
            return Some(self.go_on(batch, outbox, "nothing goes on with what a model said"));
        }
        self.goes_on(call, seq, resume, content, outbox);
        Some(Reply::Stay("the server of a call has its answer"))
    }

    /// Continues the call with or without an answer.
    fn goes_on(
        &self,
        call: &mut BatchCall<Slot>,
        seq: CallSeq,
        resume: Option<String>,
        content: Option<ObjectText>,
        outbox: &mut Outbox,
    ) {
        let waits = resume.is_none();
        if holds(Guard::Suspended, self.suspended) {
            // A call that waits with its question ends with the process: its server gets no answer any more.
            call.slot = if waits {
                Slot::Running(seq)
            } else {
                call.input = Some(Box::new(GivenInput { content, resume }));
                Slot::Approved(seq)
            };
            return;
        }
        call.input = Some(Box::new(GivenInput { content, resume }));
        call.slot = Slot::Running(seq);
        outbox.execute(call.order(seq));
    }

    /// Asks for what is due since the run was suspended; true where it was due.
    pub(super) fn sample_due(
        &mut self,
        call: &mut BatchCall<Slot>,
        in_flight: &[(usize, u64)],
        outbox: &mut Outbox,
    ) -> bool {
        let Slot::Unsampled { asked, call: seq } = &call.slot else {
            return false;
        };
        let (seq, asked) = (*seq, asked.clone());
        if self.nothing_starts() {
            call.slot = Settled::Answered(FailedReason::EffectUnknown).into();
            return true;
        }
        self.sampling_required(call, (seq, &asked), in_flight, outbox);
        true
    }
}

/// Returns a response for a server: its text, its model and its stop reason; `None` without text.
fn sampled(returned: &InferenceReturned, model: &str) -> Option<ObjectText> {
    let result = &returned.result;
    let stop = match result.stop {
        StopReason::End => "endTurn",
        StopReason::Length => "maxTokens",
        StopReason::Refusal | StopReason::ContentFilter | StopReason::Unknown => return None,
    };
    let message = result.canonical_message.as_ref()?;
    let sound = result.status != AdapterStatus::Rejected && message.tool_calls.is_empty();
    let text = sound.then_some(message.content.as_str());
    let text = text.filter(|text| !is_blank(text))?;
    let content = json!({"model": model, "stop": stop, "text": text});
    ObjectText::parse(content.to_string()).ok()
}
