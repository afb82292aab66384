//! The transport of protocol 2024-11-05 over HTTP: a stream of events brings messages of the server, and each of ours is a POST to the
//! address that the first event names. Does not know calls.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Url};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::common::http_header::{EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE};

use super::address::Address;
use super::authorized::send_with_token;
use super::event_stream::{Broken, Events, events};
use super::frame_exchange::FrameExchange;
use super::listener::Changes;
use super::pending::Unanswered;
use super::refusal::Refusal;
use super::stderr_tail::StderrTail;
use crate::tools::oauth::Authorization;
use crate::tools::web_answer::body_of;

/// Maximum size of a body with an HTTP error status.
const ERROR_BYTES: usize = 64 << 10;

/// JSON-RPC over a stream of events and a POST for each message.
pub(super) struct SseTransport {
    /// Source of tokens, if the server may want any.
    authorization: Option<Arc<Authorization>>,
    client: Client,
    /// Target of messages, of the same origin as the stream since it gets the same headers.
    endpoint: Url,
    events: Events,
    frames: FrameExchange,
    headers: HeaderMap,
}

/// The error of a message or of the stream. It does not name the address, which may hold a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseFault {
    #[error("{0}")]
    Connection(#[source] reqwest::Error),
    #[error("{0}")]
    Refused(String),
    #[error("its answer is no stream of events")]
    NoEvents,
    #[error("the stream of events ended before it named an address for messages")]
    Ended,
    #[error("the address that it names for messages is of another origin")]
    OtherOrigin,
    #[error("{0}")]
    Message(#[from] io::Error),
}

impl SseTransport {
    /// Opens the stream and waits for the address of messages.
    pub(super) async fn connect(
        address: Address,
        (tail, changes): (Arc<StderrTail>, Changes),
    ) -> Result<Self, SseFault> {
        let Address {
            authorization,
            client,
            headers,
            url,
        } = address;
        let request = || {
            client
                .get(url.clone())
                .headers(headers.clone())
                .header(ACCEPT, EVENT_STREAM_MIME_TYPE)
        };
        let response = send_with_token(authorization.as_deref(), request);
        let response = response.await.map_err(failed)?;
        if !response.status().is_success() {
            let refusal = Refusal::of_http(response.status(), response.headers());
            return Err(SseFault::Refused(refusal.message));
        }
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with(EVENT_STREAM_MIME_TYPE) {
            return Err(SseFault::NoEvents);
        }
        let mut events = events(response);
        let endpoint = loop {
            let event = events.next().await.and_then(Result::ok);
            let event = event.ok_or(SseFault::Ended)?;
            if event.event.as_deref() == Some("endpoint") {
                let named = event.data.unwrap_or_default();
                let endpoint = url.join(named.trim()).map_err(|_| SseFault::OtherOrigin)?;
                break endpoint;
            }
        };
        if endpoint.origin() != url.origin() {
            return Err(SseFault::OtherOrigin);
        }
        Ok(Self {
            authorization,
            client,
            endpoint,
            events,
            frames: FrameExchange::new(tail, changes, None),
            headers,
        })
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseFault;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let body = self.frames.outgoing(&item);
        let awaited = self.frames.awaited().clone();
        let (client, endpoint) = (self.client.clone(), self.endpoint.clone());
        let (headers, authorization) = (self.headers.clone(), self.authorization.clone());
        async move {
            // The answer comes on the stream; of this one only the status counts.
            let body = Bytes::from(body?);
            let request = || {
                client
                    .post(endpoint.clone())
                    .headers(headers.clone())
                    .header(CONTENT_TYPE, JSON_MIME_TYPE)
                    .body(body.clone())
            };
            let response = send_with_token(authorization.as_deref(), request);
            let response = response.await.map_err(failed)?;
            if response.status().is_success() {
                return Ok(());
            }
            let by_status = Refusal::of_http(response.status(), response.headers());
            let body = body_of(response, ERROR_BYTES).await;
            let in_frame = body.ok().and_then(|(body, _)| Refusal::in_frame(&body));
            let refusal = in_frame.unwrap_or(by_status);
            let fault = SseFault::Refused(refusal.message.clone());
            if let JsonRpcMessage::Request(request) = &item
                && let RequestId::Number(id) = request.id
                && let Some(pending) = awaited.claim(id)
            {
                pending.fill(id, Err(Unanswered::Refused(refusal)));
            }
            Err(fault)
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(fault) => {
                    if Broken::is_too_large(&fault) {
                        self.frames
                            .lose("an event of the answer is larger than 16 MiB");
                    }
                    return None;
                }
            };
            if !matches!(event.event.as_deref(), None | Some("" | "message")) {
                continue;
            }
            let frame = event.data.unwrap_or_default().into_bytes();
            if let Some(message) = self.frames.incoming(frame.into()) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

fn failed(fault: reqwest::Error) -> SseFault {
    SseFault::Connection(fault.without_url())
}
