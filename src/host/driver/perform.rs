//! The execution of a session's outputs: each is a task that ends with one input. Nothing here decides what it means.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::poll;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::DriverError;
use super::clock::{RunClock, unix_ms};
use super::queue::Queue;
use super::queues::{CallPermit, Queues};
use super::shared::Shared;
use crate::inference::{Backend, Reply, Timeouts, TransportFault};
use crate::tools::{BlobSink, CallTerms, ExchangeLog, RunFiles, ToolServers};
use monolith_core::adapter::{ResponseMeta, server_properties};
use monolith_core::contract::{ExecutionContract, change_of_tool};
use monolith_core::kernel::{CallOrder, LostEffect, Probed, ProbedTarget};
use monolith_core::message::{
    CallSeq, Digest, InferenceSeq, NamedText, ObjectText, Scrubber, ToolOutcome,
};
use monolith_core::session::{Call, Input, Request};

/// A response that arrives faster than it is taken is handed over in pieces of about so many bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// Bytes of what differs of a tool that has changed.
const CHANGE_BYTES: usize = 2_000;

/// The result of a task.
#[derive(Debug)]
pub(super) struct Done {
    /// Bytes that the event names and that the host keeps.
    pub(super) blobs: Vec<Vec<u8>>,
    /// The fault that keeps the run from continuing in this process.
    pub(super) fault: Option<DriverError>,
    /// `None` if the work of the task continues elsewhere.
    pub(super) input: Option<Input>,
}

impl Done {
    /// Returns true if it ends a task: it is neither a piece of a response nor an outside input.
    pub(super) const fn ends_a_task(&self) -> bool {
        matches!(
            self.input,
            None | Some(
                Input::Response { .. }
                    | Input::ResponseEnded { .. }
                    | Input::Fault { .. }
                    | Input::ToolResult { .. }
                    | Input::ChildEnded { .. }
                    | Input::Probed(_)
                    | Input::Lost(_)
            )
        )
    }
}

impl Done {
    /// Ends a task whose effect is unknown: another process resumes it.
    pub(super) const fn nothing() -> Self {
        Self {
            blobs: Vec::new(),
            fault: None,
            input: None,
        }
    }

    /// The run cannot go on in this process.
    pub(super) fn failed(fault: DriverError) -> Self {
        Self {
            fault: Some(fault),
            ..Self::nothing()
        }
    }

    /// Returns an input with the bytes that its event names.
    pub(super) fn with(input: Input, blobs: Vec<Vec<u8>>) -> Self {
        Self {
            blobs,
            input: Some(input),
            ..Self::nothing()
        }
    }
}

impl From<Input> for Done {
    fn from(input: Input) -> Self {
        Self::with(input, Vec::new())
    }
}

/// The slots for which model requests wait behind those of other runs.
#[derive(Clone, Debug)]
pub(super) struct RequestSlots {
    /// The limit; none if unlimited.
    limit: Option<usize>,
    shared: Shared,
    /// Once the run is suspended, no request of it is sent any more.
    pub(super) suspended: CancellationToken,
}

/// The permission to send a request, and the slot that others wait for.
enum RequestSlot {
    /// It may, as long as this is held.
    Taken(
        #[expect(dead_code, reason = "it is held, and given back when it is dropped")] CallPermit,
    ),
    /// It was cancelled before.
    Cancelled,
    /// The run was suspended before.
    Suspended,
}

impl RequestSlots {
    /// Returns the slots of a run; with a limit, they are one queue with those of the other runs that share it.
    pub(super) fn of(shared: &Shared, limit: Option<usize>) -> Self {
        Self {
            limit,
            shared: shared.clone(),
            suspended: CancellationToken::new(),
        }
    }

    async fn wait(&self, queue: &Arc<Queue>, cancel: &CancellationToken) -> RequestSlot {
        let Some(limit) = self.limit else {
            return RequestSlot::Taken(None);
        };
        let given_up = async {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = self.suspended.cancelled() => {}
            }
        };
        match queue.permit(limit, given_up).await {
            Some(permit) => RequestSlot::Taken(Some(permit)),
            None if cancel.is_cancelled() => RequestSlot::Cancelled,
            None => RequestSlot::Suspended,
        }
    }
}

/// Asks every target whether it answers, all at once.
pub(super) async fn probe(
    backends: Vec<Arc<Backend>>,
    headers: Vec<Vec<(String, String)>>,
    slots: RequestSlots,
    cancel: CancellationToken,
) -> Done {
    let slot = slots.wait(slots.shared.probes(), &cancel).await;
    if let RequestSlot::Suspended = slot {
        return Input::Lost(LostEffect::Probe).into();
    }
    let probes = backends.iter().zip(&headers);
    let probes = probes.map(|(backend, headers)| backend.probe(headers, &cancel));
    let targets = futures_util::future::join_all(probes)
        .await
        .into_iter()
        .map(|probe| ProbedTarget {
            detail: probe.detail,
            properties: server_properties(&probe.properties),
            responsive: probe.responsive,
            server_headers: NamedText::of_headers(&probe.headers),
        })
        .collect();
    Input::Probed(Probed { targets }).into()
}

/// One request and its response. What arrives while the end is not there yet goes to `pieces`; a response that is all there at once is
/// handed over as a whole.
pub(super) async fn infer(
    backend: Arc<Backend>,
    request: Request,
    pieces: mpsc::Sender<Done>,
    slots: RequestSlots,
    cancel: CancellationToken,
) -> Done {
    #[cfg(test)]
    trip(
        &String::from_utf8_lossy(&request.body),
        "panic in the request",
    );
    let inference = request.inference.inference;
    let slot = slots.wait(slots.shared.inferences(), &cancel).await;
    if let RequestSlot::Suspended = slot {
        return Input::Lost(LostEffect::Inference(inference)).into();
    }
    let mut buffer = ResponseBuffer {
        head: None,
        inference,
        pieces,
        waiting: Vec::new(),
    };
    // A cancelled one is not sent either: the backend looks first.
    let received = receive(&backend, request, cancel, &mut buffer).await;
    drop(slot);
    let input = match received {
        Ok(()) => buffer.ended().await,
        Err(fault) => {
            buffer.hand_over().await;
            Input::Fault {
                fault: fault.into_provider_fault(),
                inference,
            }
        }
    };
    input.into()
}

async fn receive(
    backend: &Backend,
    request: Request,
    cancel: CancellationToken,
    buffer: &mut ResponseBuffer,
) -> Result<(), TransportFault> {
    let timeouts = Timeouts {
        cancel,
        idle: Duration::from_millis(request.timeout_ms),
    };
    let Request {
        body,
        headers,
        path,
        ..
    } = request;
    let mut reply = backend.send(&path, &headers, body, &timeouts).await?;
    buffer.head = Some(ResponseMeta {
        headers: reply.head().headers.clone(),
        received_unix_ms: unix_ms(),
        status: reply.head().status,
    });
    while let Some(chunk) = next_chunk(&mut reply, buffer).await? {
        buffer.waiting.extend_from_slice(&chunk);
    }
    Ok(())
}

/// The next bytes; what has arrived before is handed over where they have to be waited for.
async fn next_chunk(
    reply: &mut Reply,
    buffer: &mut ResponseBuffer,
) -> Result<Option<Vec<u8>>, TransportFault> {
    let mut chunk = pin!(reply.chunk());
    if buffer.waiting.len() < PIECE_BYTES
        && let std::task::Poll::Ready(chunk) = poll!(&mut chunk)
    {
        return chunk;
    }
    buffer.hand_over().await;
    chunk.await
}

/// The bytes of a response that were not handed over yet.
struct ResponseBuffer {
    /// The head; none once handed over.
    head: Option<ResponseMeta>,
    inference: InferenceSeq,
    pieces: mpsc::Sender<Done>,
    waiting: Vec<u8>,
}

impl ResponseBuffer {
    async fn hand_over(&mut self) {
        let inference = self.inference;
        if let Some(meta) = self.head.take() {
            self.send(Input::ResponseBegan { inference, meta }).await;
        }
        if !self.waiting.is_empty() {
            let bytes = std::mem::take(&mut self.waiting);
            self.send(Input::ResponseBytes { bytes, inference }).await;
        }
    }

    async fn send(&self, input: Input) {
        // The loop that receives ends after every task of it.
        drop(self.pieces.send(input.into()).await);
    }

    /// The last input of a response, without what was handed over before.
    async fn ended(mut self) -> Input {
        let inference = self.inference;
        if let Some(meta) = self.head {
            let bytes = self.waiting;
            return Input::Response {
                bytes,
                inference,
                meta,
            };
        }
        self.hand_over().await;
        Input::ResponseEnded { inference }
    }
}

/// The resources that all calls of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) clock: RunClock,
    pub(super) contract: Arc<ExecutionContract>,
    /// The run's knowledge of its files; `None` if nothing is kept.
    pub(super) files: Option<Arc<RunFiles>>,
    pub(super) queues: Arc<Queues>,
    pub(super) scrubber: Arc<dyn Scrubber>,
    pub(super) servers: Arc<ToolServers>,
}

/// One tool call to its end, the wait in its queue included.
///
/// A question of its server that the call waits with goes to `asked`, as a result that is not its end.
pub(super) async fn call(
    tools: Tools,
    call: Call,
    asked: Option<(OpenQuestions, mpsc::Sender<Done>)>,
    cancel: CancellationToken,
) -> Done {
    let Call {
        idempotency_key,
        order,
        output_limit_bytes,
        queue,
        timeout_ms,
    } = call;
    let Some(permit) = tools.queues.permit(queue.as_deref(), &cancel).await else {
        return Input::ToolResult {
            call: order.call,
            exchanges: Vec::new(),
            outcome: ToolOutcome::Cancelled,
        }
        .into();
    };
    #[cfg(test)]
    trip(order.invocation.arguments.as_str(), "panic in the call");
    let blobs = CallBlobs::default();
    let (questions, mut open) = mpsc::channel(1);
    let exchanges = Arc::new(match &asked {
        Some(_) => ExchangeLog::asking(questions),
        None => ExchangeLog::default(),
    });
    let terms = CallTerms {
        blobs: &blobs,
        cancel: &cancel,
        clock: &tools.clock,
        exchanges: &exchanges,
        idempotency_key: &idempotency_key,
        files: tools.files.as_ref(),
        output_limit_bytes,
        reports: None,
        scrub: tools.scrubber.as_ref(),
        timeout_ms,
    };
    let mut outcome = {
        let mut calling = pin!(tools.servers.call(&order, &terms));
        loop {
            tokio::select! {
                biased;
                outcome = &mut calling => break outcome,
                Some((waits, answer)) = open.recv() => {
                    let Some((questions, pieces)) = &asked else { continue };
                    questions.put(order.call, answer);
                    let kept = CallBlobs::default();
                    let outcome = waits.outcome(None, &kept);
                    let input = Input::ToolResult {
                        call: order.call,
                        exchanges: Vec::new(),
                        outcome,
                    };
                    let piece = Done::with(input, kept.take());
                    // The loop that receives ends after every task of it.
                    drop(pieces.send(piece).await);
                }
            }
        }
    };
    drop(permit);
    if let ToolOutcome::ToolChanged { detail } = &mut outcome
        && let Some(was) = tools.contract.tool(&order.invocation.name)
    {
        let now = tools.servers.offered(&was.name);
        *detail = change_of_tool(was, now.as_ref(), CHANGE_BYTES);
    }
    let input = Input::ToolResult {
        call: order.call,
        exchanges: exchanges.take(),
        outcome,
    };
    Done::with(input, blobs.take())
}

/// The questions of servers that calls in flight wait with, each with where its answer goes.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenQuestions(Arc<Mutex<BTreeMap<CallSeq, Answered>>>);

type Answered = oneshot::Sender<Option<ObjectText>>;

impl OpenQuestions {
    fn put(&self, call: CallSeq, answer: Answered) {
        self.all().insert(call, answer);
    }

    /// Hands over the answer to a call in flight; false where none waits for one.
    pub(super) fn answer(&self, order: &CallOrder) -> bool {
        let given = order.input.as_ref().filter(|given| given.resume.is_none());
        let waiting = given.and_then(|given| Some((given, self.all().remove(&order.call)?)));
        let Some((given, waiting)) = waiting else {
            return false;
        };
        // Where nothing waits any more, the call is about to end.
        drop(waiting.send(given.content.clone()));
        true
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<CallSeq, Answered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that a call wants kept, until the entry that names them is appended.
#[derive(Debug, Default)]
pub(super) struct CallBlobs(Mutex<Vec<Vec<u8>>>);

impl CallBlobs {
    pub(super) fn take(self) -> Vec<Vec<u8>> {
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
