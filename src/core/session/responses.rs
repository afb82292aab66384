//! Responses while they arrive, and the events that they become.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::deltas::Arrived;
use super::error::SessionError;
use super::output::Output;
use super::response::{DecodedEvent, EventDecoder, Issued, PartialResponse, ReceivedResponse};
use super::whole_run::Session;
use crate::adapter::ResponseMeta;
use crate::kernel::{Admitted, EventKind, Run};
use crate::message::{
    InferenceSeq, ProtocolAdapterResult, ProviderFault, ProviderFaultClass, Scrubber,
};

/// A part of a response, or its fault.
pub(super) enum ResponsePart {
    Head(ResponseMeta),
    Bytes(Vec<u8>),
    End,
    Whole(ResponseMeta, Vec<u8>),
    Fault(ProviderFault),
}

impl Session {
    /// Begins to read a response beside the run, to see which event it would be.
    pub(crate) fn begin(
        &self,
        inference: InferenceSeq,
        meta: ResponseMeta,
    ) -> Option<PartialResponse> {
        let issued = self.requests.issued(inference)?;
        Some(PartialResponse::new(issued, &self.contract, meta))
    }

    /// The event that these bytes, which were scrubbed before, would be as a whole response now; nothing happens.
    pub fn decode_bytes(
        &self,
        inference: InferenceSeq,
        meta: ResponseMeta,
        bytes: &[u8],
    ) -> Option<DecodedEvent> {
        let mut partial = self.begin(inference, meta)?;
        partial.push(bytes);
        self.decode(inference, partial.end(), None)
    }

    /// The event that this response would be now; nothing happens. `scrubber` knows the secrets of one that was not scrubbed yet.
    pub fn decode(
        &self,
        inference: InferenceSeq,
        arrived: ReceivedResponse,
        scrubber: Option<&dyn Scrubber>,
    ) -> Option<DecodedEvent> {
        let issued = self.requests.issued(inference)?;
        let decoder = self.decoder_for(inference, issued)?;
        Some(
            EventDecoder {
                scrubber,
                ..decoder
            }
            .decode(arrived),
        )
    }

    /// The part of a recorded verdict that may be seen now. It is the recorded part if the token gate is in the same state.
    pub(crate) fn admit(&self, result: ProtocolAdapterResult) -> Option<Admitted> {
        self.run().map(|run| run.admit(result))
    }

    /// True if data that arrives now may hold withheld text.
    pub fn holds_back(&self) -> bool {
        self.run().is_some_and(Run::holds_back)
    }

    fn decoder_for<'s>(
        &'s self,
        inference: InferenceSeq,
        issued: &'s Issued,
    ) -> Option<EventDecoder<'s>> {
        Some(EventDecoder {
            contract: &self.contract,
            counter: self.counter.as_ref(),
            inference,
            issued,
            run: self.run()?,
            scrubber: self.scrubber.as_deref(),
        })
    }

    /// Returns the event of a response or a part of one; `None` while more of it is to come, or if its request is no longer in
    /// flight.
    ///
    /// A model server's data is foreign. If reading it panics, the attempt has failed and the run continues. Bytes that cannot
    /// be read are not kept, since their secrets cannot be taken out.
    pub(super) fn response(
        &mut self,
        inference: InferenceSeq,
        part: ResponsePart,
    ) -> Result<Option<EventKind>, SessionError> {
        let run = self.run().ok_or(SessionError::NotStarted)?;
        if inference.0 > run.counters().inferences {
            return Err(SessionError::NoSuchRequest { inference });
        }
        let issued = self.requests.issued(inference).cloned();
        // Only the request itself can be left half read, and it is taken away then.
        let read = AssertUnwindSafe(|| self.arrives(inference, part));
        catch_unwind(read).unwrap_or_else(|_| {
            drop(self.requests.take(inference));
            let class = ProviderFaultClass::InvalidResponse;
            let fault = ProviderFault::new(class, "monolith failed to read the response");
            let decoder = issued
                .as_ref()
                .and_then(|issued| self.decoder_for(inference, issued));
            let decoder = decoder.map(|decoder| EventDecoder {
                scrubber: None,
                ..decoder
            });
            Ok(decoder.map(|decoder| decoder.decode(ReceivedResponse::broken(fault)).event))
        })
    }

    fn arrives(
        &mut self,
        inference: InferenceSeq,
        part: ResponsePart,
    ) -> Result<Option<EventKind>, SessionError> {
        match part {
            ResponsePart::Head(meta) => {
                self.requests.begin(inference, meta)?;
                Ok(None)
            }
            ResponsePart::Bytes(bytes) => self.bytes(inference, &bytes),
            ResponsePart::End => self.ended(inference),
            ResponsePart::Whole(meta, bytes) => {
                self.requests.begin(inference, meta)?;
                if let Some(partial) = self.partial(inference)? {
                    partial.push(&bytes);
                }
                self.ended(inference)
            }
            ResponsePart::Fault(fault) => Ok(self.broken(inference, fault)),
        }
    }

    /// Returns the part of a response that has arrived; `None` if its request is no longer in flight.
    fn partial(
        &mut self,
        inference: InferenceSeq,
    ) -> Result<Option<&mut PartialResponse>, SessionError> {
        match self.requests.get_mut(inference) {
            None => Ok(None),
            Some(in_flight) => match &mut in_flight.partial {
                None => Err(SessionError::NoHead { inference }),
                Some(partial) => Ok(Some(partial)),
            },
        }
    }

    fn bytes(
        &mut self,
        inference: InferenceSeq,
        bytes: &[u8],
    ) -> Result<Option<EventKind>, SessionError> {
        let Some(partial) = self.partial(inference)? else {
            return Ok(None);
        };
        partial.push(bytes);
        if partial.is_settled() {
            self.outputs.push(Output::Close(inference));
            return self.ended(inference);
        }
        if self.releases()
            && let Some(in_flight) = self.requests.get_mut(inference)
            && !in_flight.issued.is_beside
            && let Some(partial) = &in_flight.partial
        {
            let arrived = Arrived {
                reasoning: partial.reasoning(),
                text: partial.text().filter(|_| in_flight.issued.releases()),
            };
            let scrubber = self.scrubber.as_deref();
            let deltas = self.deltas.next(inference, &arrived, scrubber);
            self.outputs.extend(deltas);
        }
        Ok(None)
    }

    fn ended(&mut self, inference: InferenceSeq) -> Result<Option<EventKind>, SessionError> {
        self.partial(inference)?;
        let in_flight = self.requests.get_mut(inference);
        let partial = in_flight.and_then(|in_flight| in_flight.partial.take());
        Ok(partial.and_then(|partial| self.decode_received(inference, partial.end())))
    }

    /// True if arriving text may be shown at once.
    fn releases(&self) -> bool {
        self.driven && self.run().is_some_and(|run| !run.holds_back())
    }

    fn decode_received(
        &mut self,
        inference: InferenceSeq,
        arrived: ReceivedResponse,
    ) -> Option<EventKind> {
        let in_flight = self.requests.take(inference)?;
        let decoder = self.decoder_for(inference, &in_flight.issued)?;
        let DecodedEvent { blobs, event } = decoder.decode(arrived);
        self.blobs.extend(blobs);
        if self.driven && !in_flight.issued.is_beside {
            let deltas = self.deltas.last(&event);
            self.outputs.extend(deltas);
        }
        Some(event)
    }

    fn broken(&mut self, inference: InferenceSeq, fault: ProviderFault) -> Option<EventKind> {
        let in_flight = self.requests.get_mut(inference)?;
        let arrived = match in_flight.partial.take() {
            Some(partial) => partial.break_off(fault),
            None => ReceivedResponse::broken(fault),
        };
        self.decode_received(inference, arrived)
    }
}
