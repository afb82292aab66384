//! One initialised connection: sends requests and waits for responses. Does not know tools.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use rmcp::RoleClient;
use rmcp::handler::client::progress::ProgressDispatcher;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ListToolsRequest, PingRequest, RequestMetaObject,
    ServerCapabilities, ServerJsonRpcMessage, SubscriptionFilter, SubscriptionsListenRequest,
    SubscriptionsListenRequestParams,
};
use rmcp::service::{
    ClientServiceExt, PeerRequestOptions, RequestHandle, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{IntoTransport, Transport};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::elicitation::{OpenCall, OpenCalls};
use super::handshake::{
    Handshake, INITIALISE_MS, Introduction, NotIntroduced, not_introduced, unknown_version,
    words_of,
};
use super::listener::{Changes, Listener, in_words};
use super::pending::{PendingResponse, Unanswered};
use super::refusal::Refusal;
use super::response::{NoResponse, Response};
use super::stderr_tail::StderrTail;
use super::traced;
use crate::tools::{ExchangeLog, ToolServerError, trace};
use monolith_core::contract::HealthProbe;
use monolith_core::message::ToolServerStatement;

/// Maximum time to send a cancellation.
const CANCEL_GRACE: Duration = Duration::from_millis(500);
/// Time for an overdue server to show that it answers.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time for rmcp to close a connection.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// An initialised connection to a server: sends one request at a time, or several at once.
#[derive(Debug)]
pub(super) struct Connection {
    calls: OpenCalls,
    changes: Changes,
    /// Reports changes of the tools, for a protocol that reports them on request only.
    _subscription: Option<RequestHandle<RoleClient>>,
    /// Cancelled once the connection has ended, or counts as ended.
    ended: CancellationToken,
    /// True if the last response was late.
    is_overdue: AtomicBool,
    /// Name of the other side in diagnostics.
    place: String,
    reports: ProgressDispatcher,
    service: RunningService<RoleClient, Listener>,
    tail: Arc<StderrTail>,
}

/// Receives progress reports of one request.
pub(super) type ReportWatch<'w> = dyn Fn(&str) + Send + Sync + 'w;

/// Ignores progress reports.
pub(super) const UNWATCHED: &ReportWatch<'static> = &|_| ();

impl Connection {
    /// Begins the connection over a transport. `place` names the other side in messages.
    pub(super) async fn introduce<T, E, A>(
        (transport, place): (T, &str),
        tail: Arc<StderrTail>,
        changes: Changes,
        introduction: Introduction<'_>,
        cancel: &CancellationToken,
    ) -> Result<Self, NotIntroduced>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let Introduction {
            handshake,
            terms,
            timeout_ms,
            until,
        } = introduction;
        let reports = ProgressDispatcher::new();
        let calls = OpenCalls::default();
        let listener = Listener {
            calls: calls.clone(),
            changes: changes.clone(),
            reports: reports.clone(),
            tail: Arc::clone(&tail),
            terms: terms.clone(),
        };
        let ended = CancellationToken::new();
        let transport = Watched {
            _ended: ended.clone().drop_guard(),
            inner: transport.into_transport(),
        };
        let begun = listener.serve_with_lifecycle(transport, handshake.lifecycle());
        let served = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let (error, next) = (ToolServerError::Cancelled, None);
                return Err(NotIntroduced { error, next });
            }
            served = tokio::time::timeout_at(until, begun) => served,
        };
        match served {
            Ok(Ok(mut service)) => {
                traced::introduced(place, &tail, &service);
                let info = service.peer_info();
                let unknown = info.and_then(|info| unknown_version(&info.protocol_version));
                if let Some(reason) = unknown {
                    // MCP, lifecycle: a client that does not speak the server's version disconnects.
                    let _ = service.close_with_timeout(CLOSE_GRACE).await;
                    let error = ToolServerError::Protocol {
                        reason: tail.scrubbed(&reason),
                        output: tail.clauses(),
                        step: "initialise",
                    };
                    return Err(NotIntroduced { error, next: None });
                }
                Ok(Self {
                    calls,
                    changes,
                    _subscription: tokio::time::timeout_at(until, subscribe(&service))
                        .await
                        .ok()
                        .flatten(),
                    ended,
                    is_overdue: AtomicBool::new(false),
                    place: place.to_owned(),
                    reports,
                    service,
                    tail,
                })
            }
            Ok(Err(error)) => {
                let next = handshake.after(&error);
                let error = not_introduced(&error, place, &tail);
                let next = next.filter(|_| !matches!(error, ToolServerError::Unreached { .. }));
                Err(NotIntroduced { error, next })
            }
            Err(_) => Err(NotIntroduced {
                error: ToolServerError::TimedOut {
                    grants: String::new(),
                    output: tail.clauses(),
                    step: "initialise",
                    longest_ms: INITIALISE_MS,
                    timeout_ms,
                },
                next: (handshake == Handshake::Discover).then_some(Handshake::Initialize),
            }),
        }
    }

    /// Sends a request and waits for its answer. If none comes in time, asks the server to stop, which it may not.
    pub(super) async fn ask(
        &self,
        request: ClientRequest,
        pending: &PendingResponse,
        meta: RequestMetaObject,
        times: (Instant, &CancellationToken),
        watch: &ReportWatch<'_>,
    ) -> Result<Response, NoResponse> {
        if !trace::is_on() {
            return self.asked(request, pending, meta, times, watch).await;
        }
        traced::sent((&self.place, &self.tail), &request, pending);
        let response = self.asked(request, pending, meta, times, watch).await;
        traced::received((&self.place, &self.tail), &response);
        response
    }

    async fn asked(
        &self,
        request: ClientRequest,
        pending: &PendingResponse,
        meta: RequestMetaObject,
        (deadline, cancel): (Instant, &CancellationToken),
        watch: &ReportWatch<'_>,
    ) -> Result<Response, NoResponse> {
        if self.service.is_transport_closed() {
            return Err(self.lost("the connection is closed"));
        }
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let mut handle = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(NoResponse::Cancelled),
            () = tokio::time::sleep_until(deadline) => {
                self.is_overdue.store(true, Ordering::Relaxed);
                return Err(NoResponse::TimedOut);
            }
            sent = self.service.send_cancellable_request(request, options) => {
                sent.map_err(|error| self.lost(&error.to_string()))?
            }
        };
        let mut reports = self.reports.subscribe(handle.progress_token.clone()).await;
        let response = loop {
            tokio::select! {
                biased;
                response = &mut handle.rx => break response,
                () = cancel.cancelled() => {
                    give_up(handle, "cancelled").await;
                    return Err(NoResponse::Cancelled);
                }
                () = tokio::time::sleep_until(deadline) => {
                    self.is_overdue.store(true, Ordering::Relaxed);
                    give_up(handle, "timeout").await;
                    return Err(NoResponse::TimedOut);
                }
                // A report shows that the server is at work, and buys no time.
                Some(mut report) = reports.next() => {
                    while let Some(Some(newer)) = reports.next().now_or_never() {
                        report = newer;
                    }
                    watch(&in_words(&report));
                }
            }
        };
        self.is_overdue.store(false, Ordering::Relaxed);
        if let Some(received) = pending.take() {
            return match received {
                Ok(received) => Ok(Response::Bytes(received)),
                Err(Unanswered::Lost(reason)) => Err(self.lost(reason)),
                Err(Unanswered::Refused(refusal)) => Ok(Response::Refused(refusal)),
                Err(Unanswered::SessionExpired(error)) => Err(NoResponse::SessionExpired(error)),
            };
        }
        match response {
            Ok(Ok(result)) => Ok(Response::Decoded(Box::new(result))),
            Ok(Err(ServiceError::McpError(error))) => Ok(Response::Refused(Refusal {
                code: error.code.0.to_string(),
                message: error.message.into_owned(),
            })),
            Ok(Err(error)) if error.is_authorization_required() => Err(NoResponse::Unauthorized),
            Ok(Err(ServiceError::TransportSend(error))) => {
                let error = error.error.as_ref();
                match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
                    Some(StreamableHttpError::SessionExpired) => {
                        Err(NoResponse::SessionExpired(None))
                    }
                    _ => Err(self.lost(&words_of(error))),
                }
            }
            Ok(Err(error)) => Err(self.lost(&error.to_string())),
            Err(_) => Err(self.lost("the server closed the connection")),
        }
    }

    /// Opens a call that lasts until the result is dropped: requests of the server meanwhile go to `log`.
    pub(super) fn open_call(&self, log: &Arc<ExchangeLog>) -> OpenCall {
        self.calls.open(log)
    }

    /// True if the last response was late.
    pub(super) fn is_overdue(&self) -> bool {
        self.is_overdue.load(Ordering::Relaxed)
    }

    /// True if the server is not overdue, or answers a ping or else the question for its tools (001 §6).
    pub(super) async fn answers(&self, probe: HealthProbe, cancel: &CancellationToken) -> bool {
        if !self.is_overdue() {
            return true;
        }
        let ping = (probe == HealthProbe::Ping)
            .then(|| ClientRequest::PingRequest(PingRequest::default()));
        let list = ClientRequest::ListToolsRequest(ListToolsRequest::default());
        for request in ping.into_iter().chain([list]) {
            let (pending, meta) = (PendingResponse::new(None), RequestMetaObject::new());
            let deadline = Instant::now() + PING_TIMEOUT;
            let asked = self.ask(request, &pending, meta, (deadline, cancel), UNWATCHED);
            // A refusal comes from a server that runs.
            if asked.await.is_ok() {
                return true;
            }
        }
        false
    }

    /// True if no request can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.ended.is_cancelled() || self.service.is_transport_closed()
    }

    /// The token that is cancelled once the connection has ended, or counts as ended.
    pub(super) const fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Number of changes of the tools that the server has reported.
    pub(super) fn changes(&self) -> u64 {
        self.changes.count()
    }

    /// The statement of the server of that name in the handshake; `scrub` cleans each text before it is cut.
    pub(super) fn statement(
        &self,
        server: &str,
        scrub: impl Fn(&str) -> String,
    ) -> Option<ToolServerStatement> {
        let info = self.service.peer_info()?;
        let own = info.server_info.as_ref();
        let own = own.map(|own| (scrub(&own.name), scrub(&own.version)));
        let own = own.as_ref();
        let own = own.map(|(name, version)| (name.as_str(), version.as_str()));
        let protocol = info.protocol_version.as_str();
        let instructions = info.instructions.as_deref().map(scrub);
        Some(ToolServerStatement::new(
            server,
            own,
            protocol,
            instructions.as_deref(),
        ))
    }

    /// The declared capabilities of the server.
    pub(super) fn capabilities(&self) -> Option<ServerCapabilities> {
        let info = self.service.peer_info()?;
        Some(info.capabilities.clone())
    }

    /// True if the server declared tools.
    pub(super) fn has_tools(&self) -> bool {
        self.service
            .peer_info()
            .is_some_and(|info| info.capabilities.tools.is_some())
    }

    /// The output of the server that is no message, as clauses to append to a reason.
    pub(super) fn output(&self) -> String {
        self.tail.clauses()
    }

    /// Closes the connection, and with it a child's input. Returns the end of what the server wrote.
    pub(super) async fn close(mut self) -> Arc<StderrTail> {
        // A failure to close leaves the connection to be dropped, which closes it as well.
        let _ = self.service.close_with_timeout(CLOSE_GRACE).await;
        Arc::clone(&self.tail)
    }

    fn lost(&self, reason: &str) -> NoResponse {
        let reason = self.tail.scrubbed(reason);
        NoResponse::Lost(format!("{reason}{}", self.tail.clauses()))
    }
}

/// A transport that tells of its end: rmcp drops it with the connection.
struct Watched<T> {
    _ended: DropGuard,
    inner: T,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.inner.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Subscribes to changes of the tools: since protocol 2026-07-28 a server reports them on request only. The answer would end the
/// subscription, so nothing waits for it.
async fn subscribe(
    service: &RunningService<RoleClient, Listener>,
) -> Option<RequestHandle<RoleClient>> {
    let info = service.peer_info()?;
    let reports = info.capabilities.tools.as_ref()?.list_changed == Some(true);
    if info.protocol_version.has_initialize() || !reports {
        return None;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let params = SubscriptionsListenRequestParams::new(filter);
    let request = SubscriptionsListenRequest::new(params);
    let request = ClientRequest::SubscriptionsListenRequest(request);
    let options = PeerRequestOptions::no_options();
    service
        .send_cancellable_request(request, options)
        .await
        .ok()
}

/// Cancels the request at the server. Advisory: the tool may act all the same.
async fn give_up(handle: RequestHandle<RoleClient>, reason: &str) {
    let cancellation = handle.cancel(Some(reason.to_owned()));
    // If not even that can be sent, the connection is as good as lost, and the next call notices it.
    let _ = tokio::time::timeout(CANCEL_GRACE, cancellation).await;
}
