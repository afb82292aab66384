//! How effects are performed: each as a task that answers once. Nothing here decides what an answer means.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::clock::{RunClock, unix_ms};
use super::redaction::Redactor;
use crate::adapter::{Adapter, Decoded, ResponseDecoder, ResponseMeta};
use crate::contract::{ExecutionContract, Terms};
use crate::inference::{Backend, Patience, TransportFault};
use crate::kernel::{
    CallOrder, InferRequest, Probed, ProbedTarget, ToolExposure, XmlOffer, observation_text,
};
use crate::message::{Digest, InferenceSeq, RunId, TokenCounter, ToolOutcome};
use crate::tools::{BlobSink, CallTerms, ToolServers};

/// What a task answers.
#[derive(Debug)]
pub(super) enum Answer {
    Probed(Probed),
    Inference(InferenceAnswer),
    Call {
        blobs: Vec<Vec<u8>>,
        order: CallOrder,
        outcome: ToolOutcome,
    },
}

/// What came of one request.
#[derive(Debug)]
pub(super) struct InferenceAnswer {
    /// By whose rules it was judged.
    pub(super) adapter: Adapter,
    /// Whether the backend itself kept the gate closed.
    pub(super) closed: bool,
    pub(super) expected_tokens: u64,
    pub(super) inference: InferenceSeq,
    /// The body as far as it arrived, without secrets; none where it is not kept.
    pub(super) raw: Option<Vec<u8>>,
    /// The name of the body; none where nothing arrived.
    pub(super) raw_hash: Option<Digest>,
    pub(super) request_hash: Digest,
    pub(super) response: Result<Decoded, TransportFault>,
    /// Index of the target that was asked.
    pub(super) target: usize,
    /// The tags that the request offered.
    pub(super) xml: Option<XmlOffer>,
}

/// Asks every target whether it answers, all at once.
pub(super) async fn probe(
    backends: Vec<Arc<Backend>>,
    redactor: Arc<Redactor>,
    cancel: CancellationToken,
) -> Answer {
    let probes = backends.iter().map(|backend| backend.probe(&cancel));
    let targets = futures_util::future::join_all(probes)
        .await
        .into_iter()
        .map(|probe| ProbedTarget {
            detail: redactor.cut_text(&probe.detail),
            responsive: probe.responsive,
        })
        .collect();
    Answer::Probed(Probed { targets })
}

/// One request and the whole of its answer.
pub(super) async fn infer(
    backend: Arc<Backend>,
    adapter: Adapter,
    contract: Arc<ExecutionContract>,
    redactor: Arc<Redactor>,
    request: InferRequest,
    body: Vec<u8>,
    cancel: CancellationToken,
) -> Answer {
    #[cfg(test)]
    trip(&String::from_utf8_lossy(&body), "panic in the request");
    let request_hash = Digest::of(&body);
    let patience = Patience {
        cancel,
        idle: Duration::from_millis(contract.llm_timeout_ms),
    };
    let target = contract.targets.get(request.target);
    let path = target.map_or_else(Default::default, |target| adapter.path(target));
    let asked = Question {
        adapter,
        model: target.map_or("", |target| target.model.as_str()),
        path: path.as_ref(),
        terms: &contract,
    };
    let Exchange {
        raw,
        raw_hash,
        response,
    } = exchange(&backend, asked, body, &patience, &redactor).await;
    Answer::Inference(InferenceAnswer {
        adapter,
        closed: adapter.is_embedded() && request.tools == ToolExposure::Forced,
        expected_tokens: request.expected_tokens,
        inference: request.inference,
        raw,
        raw_hash,
        request_hash,
        response,
        target: request.target,
        xml: request.xml,
    })
}

/// Whom a request goes to, and by whose rules its answer is judged.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) adapter: Adapter,
    pub(super) model: &'a str,
    pub(super) path: &'a str,
    pub(super) terms: &'a Terms,
}

impl Question<'_> {
    fn decoder(&self, meta: ResponseMeta) -> ResponseDecoder {
        self.adapter.decoder_under(self.terms, meta, self.model)
    }
}

/// What came back for one request, without secrets.
pub(super) struct Exchange {
    /// The body as far as it arrived; none where it is not kept.
    pub(super) raw: Option<Vec<u8>>,
    /// The name of the body; none where nothing arrived.
    pub(super) raw_hash: Option<Digest>,
    pub(super) response: Result<Decoded, TransportFault>,
}

/// One request and what came back, which nobody sees before the secrets are out.
pub(super) async fn exchange(
    backend: &Backend,
    asked: Question<'_>,
    body: Vec<u8>,
    patience: &Patience,
    redactor: &Redactor,
) -> Exchange {
    let mut raw = Vec::new();
    let response = receive(backend, asked, body, patience, &mut raw).await;
    let arrived = !raw.is_empty();
    let (response, raw, raw_hash) = match response {
        Ok((decoded, meta)) => {
            let cleaned = redactor.clean(raw, decoded, |bytes| {
                let mut again = asked.decoder(meta);
                again.push(bytes);
                again.finish()
            });
            (Ok(cleaned.decoded), cleaned.raw, cleaned.raw_hash)
        }
        Err(mut fault) => {
            fault.detail = redactor.cut_text(&fault.detail);
            let (raw, hash) = redactor.clean_broken(&raw);
            (Err(fault), raw, hash)
        }
    };
    Exchange {
        raw: raw.filter(|_| arrived),
        raw_hash: arrived.then_some(raw_hash),
        response,
    }
}

async fn receive(
    backend: &Backend,
    asked: Question<'_>,
    body: Vec<u8>,
    patience: &Patience,
    raw: &mut Vec<u8>,
) -> Result<(Decoded, ResponseMeta), TransportFault> {
    let mut reply = backend.send(asked.path, body, patience).await?;
    let meta = ResponseMeta {
        headers: reply.head().headers.clone(),
        received_unix_ms: unix_ms(),
        status: reply.head().status,
    };
    let mut decoder = asked.decoder(meta.clone());
    while let Some(chunk) = reply.chunk().await? {
        decoder.push(&chunk);
        raw.extend_from_slice(&chunk);
        if decoder.is_settled() {
            break;
        }
    }
    Ok((decoder.finish(), meta))
}

/// One tool call to its end.
pub(super) async fn call(
    servers: Arc<ToolServers>,
    (contract, counter): (Arc<ExecutionContract>, Arc<dyn TokenCounter>),
    redactor: Arc<Redactor>,
    run_id: RunId,
    clock: RunClock,
    order: CallOrder,
    cancel: CancellationToken,
) -> Answer {
    #[cfg(test)]
    trip(order.invocation.arguments.as_str(), "panic in the call");
    let blobs = CallBlobs::default();
    let idempotency_key = format!("{run_id}:{}", order.call);
    let limit = contract.tool_output_budget.max_bytes_per_call;
    let terms = CallTerms {
        blobs: &blobs,
        cancel: &cancel,
        clock: &clock,
        idempotency_key: &idempotency_key,
        output_limit_bytes: limit,
        scrub: redactor.as_ref(),
        timeout_ms: contract.tool_timeout_ms,
    };
    let mut outcome = servers.call(&order, &terms).await;
    redactor.clean_outcome(&mut outcome);
    if let ToolOutcome::Returned(envelope) = &mut outcome {
        let marker = &contract.tool_output_budget.truncation_marker;
        envelope.tokens = counter.count(&observation_text(envelope, limit, marker));
    }
    Answer::Call {
        blobs: blobs.take(),
        order,
        outcome,
    }
}

/// Bytes that a call wants kept, until the entry that names them is appended.
#[derive(Debug, Default)]
struct CallBlobs(Mutex<Vec<Vec<u8>>>);

impl CallBlobs {
    fn take(self) -> Vec<Vec<u8>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlobSink for CallBlobs {
    fn put(&self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(bytes);
        digest
    }
}

/// Panics where a test asks for it: nothing in a task does by itself.
#[cfg(test)]
fn trip(text: &str, words: &str) {
    assert!(!text.contains(words), "as the test wants");
}
