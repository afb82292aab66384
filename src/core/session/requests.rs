//! Encodes requests and tracks which are in flight. Does not send them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::SessionError;
use super::output::Request;
use super::response::{Issued, PartialResponse};
use crate::adapter::{
    Adapter, AdapterError, RequestBody, RequestEncoder, RequestShape, ResponseMeta,
};
use crate::contract::{ExecutionContract, Terms};
use crate::kernel::{InferRequest, Run, SampleRequest, SummaryRequest, ToolExposure};
use crate::message::{AgentMessage, Digest, InferenceSeq, SamplingPrompt};

/// Writes the requests of a run, and knows which of them have no response yet.
#[derive(Debug)]
pub(super) struct Requests {
    begun_unix_ms: u64,
    contract: Arc<ExecutionContract>,
    in_flight: BTreeMap<InferenceSeq, InFlight>,
    /// Requests that are made of a blob which has not been handed in.
    awaited: BTreeMap<InferenceSeq, BlobRequest>,
    /// One for each target of the contract.
    targets: Vec<Result<Target, AdapterError>>,
}

/// A request that is made of a blob.
#[derive(Debug)]
pub(super) enum BlobRequest {
    /// For a summary of what the blob holds.
    Summary(SummaryRequest),
    /// For what the server of a call wants a model to be asked: the blob holds the messages.
    Sample(SampleRequest),
}

impl BlobRequest {
    const fn blob(&self) -> Digest {
        match self {
            Self::Summary(summary) => summary.full,
            Self::Sample(sample) => sample.prompt,
        }
    }

    const fn request(&self) -> &InferRequest {
        match self {
            Self::Summary(summary) => &summary.request,
            Self::Sample(sample) => &sample.request,
        }
    }

    fn conversation(&self, bytes: &[u8]) -> Vec<Arc<AgentMessage>> {
        match self {
            Self::Summary(summary) => summary.conversation(&String::from_utf8_lossy(bytes)),
            Self::Sample(_) => SamplingPrompt::read(bytes).conversation(),
        }
    }

    fn into_request(self) -> InferRequest {
        match self {
            Self::Summary(summary) => summary.request,
            Self::Sample(sample) => sample.request,
        }
    }
}

/// The encoder of one target.
#[derive(Debug)]
struct Target {
    adapter: Adapter,
    encoder: RequestEncoder,
}

/// A request that was sent, and what of its response has arrived.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) partial: Option<PartialResponse>,
    pub(super) issued: Issued,
}

impl Target {
    fn new(
        contract: &ExecutionContract,
        index: usize,
        begun_unix_ms: u64,
    ) -> Result<Self, AdapterError> {
        Self::under(contract, contract, index, begun_unix_ms)
    }

    /// Returns the encoder of requests outside the conversation: their answers have no form and at most `max_tokens`.
    fn beside(
        contract: &ExecutionContract,
        index: usize,
        begun_unix_ms: u64,
        max_tokens: Option<u64>,
    ) -> Result<Self, AdapterError> {
        let mut terms = Terms::clone(contract);
        terms.response_format = None;
        if let (Some(target), Some(max_tokens)) = (terms.targets.get_mut(index), max_tokens) {
            let sampling = &mut target.sampling;
            sampling.max_output_tokens = sampling.max_output_tokens.min(max_tokens.max(1));
            sampling.max_output_tokens_unsent = false;
        }
        Self::under(contract, &terms, index, begun_unix_ms)
    }

    fn under(
        contract: &ExecutionContract,
        terms: &Terms,
        index: usize,
        begun_unix_ms: u64,
    ) -> Result<Self, AdapterError> {
        let encoder = RequestEncoder::new(terms, index)?;
        Ok(Self {
            adapter: Adapter::of_target(contract, index)?,
            encoder: encoder.begun_at(begun_unix_ms),
        })
    }
}

impl Requests {
    pub(super) fn new(contract: Arc<ExecutionContract>) -> Self {
        Self {
            begun_unix_ms: 0,
            in_flight: BTreeMap::new(),
            awaited: BTreeMap::new(),
            targets: targets(&contract, 0),
            contract,
        }
    }

    /// The run began then, in milliseconds since 1970: a prompt that names the time names this one.
    pub(super) fn begun_at(&mut self, unix_ms: u64) {
        self.begun_unix_ms = unix_ms;
        self.targets = targets(&self.contract, unix_ms);
    }

    /// The targets that this build cannot speak to, by their index.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (usize, &AdapterError)> {
        let targets = self.targets.iter().enumerate();
        targets.filter_map(|(index, target)| Some((index, target.as_ref().err()?)))
    }

    /// The headers that every request of a target's protocol carries, for each target.
    pub(super) fn headers(&self) -> Vec<Vec<(String, String)>> {
        let targets = self.targets.iter();
        let headers = targets.map(|target| target.as_ref().map(|target| headers(target.adapter)));
        headers.map(Result::unwrap_or_default).collect()
    }

    /// The request as it is sent; none if this build cannot speak to its target.
    pub(super) fn send(&mut self, run: &Run, inference: InferRequest) -> Option<Request> {
        let target = self.targets.get_mut(inference.target)?.as_mut().ok()?;
        let shape = RequestShape::from(&inference);
        let body = target.encoder.encode(run.conversation(), &shape);
        let body = body.without(&inference.left_out);
        let adapter = target.adapter;
        self.issue(adapter, inference, body, false)
    }

    /// A request is to be made, once its blob is there.
    pub(super) fn await_blob(&mut self, request: BlobRequest) {
        self.awaited.insert(request.request().inference, request);
    }

    /// No such request is wanted any more.
    pub(super) fn forget_awaited(&mut self) {
        self.awaited.clear();
    }

    /// The request that is made of that blob. Its encoder is its own: what the others keep of the conversation stays.
    pub(super) fn with_blob(
        &mut self,
        hash: Digest,
        bytes: &[u8],
    ) -> Result<Option<Request>, SessionError> {
        if Digest::of(bytes) != hash {
            return Err(SessionError::OtherBlob { hash });
        }
        let mut waiting = self
            .awaited
            .iter()
            .filter(|(_, request)| request.blob() == hash);
        let waiting = waiting.next().map(|(inference, _)| *inference);
        let request = waiting.and_then(|inference| self.awaited.remove(&inference));
        let Some(request) = request else {
            // It was given up meanwhile.
            return Ok(None);
        };
        let index = request.request().target;
        let max_tokens = match &request {
            BlobRequest::Summary(_) => None,
            BlobRequest::Sample(sample) => Some(sample.max_tokens),
        };
        let target = Target::beside(&self.contract, index, self.begun_unix_ms, max_tokens);
        let Ok(mut target) = target else {
            return Ok(None);
        };
        let conversation = request.conversation(bytes);
        let shape = RequestShape::from(request.request());
        let body = target.encoder.encode(&conversation, &shape);
        let body = body.without(&request.request().left_out);
        Ok(self.issue(target.adapter, request.into_request(), body, true))
    }

    fn issue(
        &mut self,
        adapter: Adapter,
        inference: InferRequest,
        body: RequestBody,
        is_beside: bool,
    ) -> Option<Request> {
        let terms = self.contract.targets.get(inference.target)?;
        let adapter = if inference.closing.is_some() {
            adapter.closing()
        } else {
            adapter
        };
        let issued = Issued {
            adapter,
            body: body.digest,
            closed: adapter.is_embedded() && inference.tools == ToolExposure::Forced,
            expected_tokens: inference.expected_tokens,
            is_beside,
            target: inference.target,
            xml: inference.xml,
        };
        let in_flight = InFlight {
            partial: None,
            issued,
        };
        self.in_flight.insert(inference.inference, in_flight);
        Some(Request {
            body: body.bytes,
            headers: headers(adapter),
            inference,
            path: adapter.path(terms).into_owned(),
            timeout_ms: self.contract.llm_timeout_ms,
        })
    }

    /// Returns the data for judging a response to that request; `None` if it is not in flight.
    pub(super) fn issued(&self, inference: InferenceSeq) -> Option<&Issued> {
        let in_flight = self.in_flight.get(&inference)?;
        Some(&in_flight.issued)
    }

    pub(super) fn get_mut(&mut self, inference: InferenceSeq) -> Option<&mut InFlight> {
        self.in_flight.get_mut(&inference)
    }

    /// Takes a request out of those in flight.
    pub(super) fn take(&mut self, inference: InferenceSeq) -> Option<InFlight> {
        self.awaited.remove(&inference);
        self.in_flight.remove(&inference)
    }

    /// Begins to decode a response.
    pub(super) fn begin(
        &mut self,
        inference: InferenceSeq,
        meta: ResponseMeta,
    ) -> Result<(), SessionError> {
        let Some(in_flight) = self.in_flight.get_mut(&inference) else {
            return Ok(());
        };
        if in_flight.partial.is_some() {
            return Err(SessionError::SecondHead { inference });
        }
        in_flight.partial = Some(PartialResponse::new(
            &in_flight.issued,
            &self.contract,
            meta,
        ));
        Ok(())
    }
}

fn headers(adapter: Adapter) -> Vec<(String, String)> {
    let headers = adapter.headers().iter();
    let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    headers.collect()
}

fn targets(contract: &ExecutionContract, unix_ms: u64) -> Vec<Result<Target, AdapterError>> {
    let all = 0..contract.targets.len();
    all.map(|index| Target::new(contract, index, unix_ms))
        .collect()
}
