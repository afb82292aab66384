//! The HTTP client of rmcp's transport: posts calls with the bytes of their arguments and keeps their answers, and leaves every other
//! request to rmcp's own client.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::authorized::{refusal, send_with_token, with_token};
use super::event_stream::{Broken, Events, events};
use super::frame_head::FrameHead;
use super::pending::{Awaited, PendingResponse, Received, encode};
use crate::tools::oauth::{Authorization, Challenge};

/// Maximum size of an answer that is no stream.
const BODY_BYTES: usize = 16 << 20;
/// Maximum size of a body with an HTTP error status.
const ERROR_BYTES: usize = 64 << 10;

type Fault = StreamableHttpError<reqwest::Error>;

/// The client of one address.
#[derive(Clone, Debug)]
pub(super) struct CallClient {
    /// Source of tokens, if the server may want any.
    authorization: Option<Arc<Authorization>>,
    awaited: Awaited,
    client: Client,
}

impl CallClient {
    pub(super) fn new(client: Client, authorization: Option<Arc<Authorization>>) -> Self {
        Self {
            authorization,
            awaited: Awaited::default(),
            client,
        }
    }

    /// Sends a request through rmcp's client, once more with another token where it is refused.
    async fn delegate<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        send: impl Fn(Option<String>) -> F,
    ) -> Result<T, Fault> {
        let refused = |result: &Result<T, Fault>| challenge_of(result.as_ref().err()?);
        let result = with_token(self.authorization.as_deref(), send, refused).await;
        result.map_err(without_address)
    }

    /// Reads the response to the request with that id.
    async fn read(
        &self,
        id: i64,
        mut response: Response,
        in_session: bool,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let status = response.status();
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if in_session => return Err(StreamableHttpError::SessionExpired),
            _ => {}
        }
        let text = |name: &str| {
            let value = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let session = text(HEADER_SESSION_ID);
        let kind = text(CONTENT_TYPE.as_str());
        let is = |mime: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(mime));
        let json = is(JSON_MIME_TYPE);
        if !status.is_success() {
            // A refusal in words of the protocol is the server's answer; without any it is no answer.
            if json
                && let Ok(body) = collect(&mut response, ERROR_BYTES).await
                && !FrameHead::of(&body).answers_unknown_request()
                && let Ok(error @ JsonRpcMessage::Error(_)) = serde_json::from_slice(&body)
            {
                return Ok(StreamableHttpPostResponse::Json(error, session));
            }
            return Err(unexpected(format!("HTTP {status}")));
        }
        if is(EVENT_STREAM_MIME_TYPE) {
            let events = self.sorted(events(response), Some(id));
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if !json {
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let body = collect(&mut response, BODY_BYTES).await?;
        let head = FrameHead::of(&body);
        let message = match self.claim(&head) {
            Some((id, pending)) => pending.fill(id, Ok(Received::Frame(body))),
            None if head.answers_unknown_request() => return Err(unexpected(TEXT_ID)),
            None => serde_json::from_slice(&body)
                .map_err(|error| unexpected(format!("the body is no JSON-RPC: {error}")))?,
        };
        Ok(StreamableHttpPostResponse::Json(message, session))
    }

    /// The events of a stream without the answers that are kept here and those to requests that were never made. `call` is the id of
    /// the request that the stream answers.
    fn sorted(&self, events: Events, call: Option<i64>) -> Events {
        let client = self.clone();
        let sort = move |event: Result<Sse, SseError>| match event {
            Ok(mut event) => {
                event.data = event.data.and_then(|data| {
                    let head = FrameHead::of(data.as_bytes());
                    match client.claim(&head) {
                        Some((id, pending)) => {
                            let frame = Received::Frame(data.into_bytes());
                            Some(text_of(&pending.fill(id, Ok(frame))))
                        }
                        None => (!head.answers_unknown_request()).then_some(data),
                    }
                });
                Ok(event)
            }
            Err(fault) => {
                let lost = call.filter(|_| Broken::is_too_large(&fault));
                let lost = lost.and_then(|id| Some((id, client.awaited.claim(id)?)));
                let (id, pending) = lost.ok_or(fault)?;
                let reason = "an event of the answer is larger than 16 MiB";
                Ok(Sse::default().data(text_of(&pending.fill(id, Err(reason)))))
            }
        };
        events.map(sort).boxed()
    }

    /// The slot of the request that a frame answers.
    fn claim(&self, head: &FrameHead) -> Option<(i64, PendingResponse)> {
        let id = head.answered_id()?;
        Some((id, self.awaited.claim(id)?))
    }
}

impl StreamableHttpClient for CallClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let call = (!is_list(&message)).then(|| self.awaited.note(&message));
        let Some((id, pending)) = call.flatten() else {
            let send = |token| {
                let (uri, message) = (Arc::clone(&uri), message.clone());
                let (session, headers) = (session_id.clone(), custom_headers.clone());
                let client = &self.client;
                client.post_message(uri, message, session, token, headers)
            };
            return match self.delegate(send).await? {
                StreamableHttpPostResponse::Json(message, _) if has_text_id(&message) => {
                    Err(unexpected(TEXT_ID))
                }
                StreamableHttpPostResponse::Sse(events, session) => {
                    let events = self.sorted(events, None);
                    Ok(StreamableHttpPostResponse::Sse(events, session))
                }
                other => Ok(other),
            };
        };
        let arguments = pending.arguments.as_deref().map(str::to_owned);
        let frame = Bytes::from(encode(&message, arguments)?);
        let accept = [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", ");
        let headers: HeaderMap = custom_headers.into_iter().collect();
        let request = || {
            let request = self
                .client
                .post(uri.as_ref())
                .headers(headers.clone())
                .header(ACCEPT, &accept)
                .header(CONTENT_TYPE, JSON_MIME_TYPE)
                .body(frame.clone());
            match &session_id {
                Some(session) => request.header(HEADER_SESSION_ID, session.as_ref()),
                None => request,
            }
        };
        let authorization = self.authorization.as_deref();
        let response = send_with_token(authorization, request).await;
        let response = response.map_err(failed)?;
        match authorization.and(refusal(&response)) {
            Some(challenge) => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(
                challenge,
            ))),
            None => self.read(id, response, session_id.is_some()).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let send = |token| {
            let (uri, session) = (Arc::clone(&uri), Arc::clone(&session_id));
            let client = &self.client;
            client.delete_session(uri, session, token, custom_headers.clone())
        };
        // The session ends in any case: it is worth no other token.
        let result = with_token(self.authorization.as_deref(), send, |_| None).await;
        result.map_err(without_address)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Fault> {
        let send = |token| {
            let (uri, session) = (Arc::clone(&uri), session_id.clone());
            let (last, headers) = (last_event_id.clone(), custom_headers.clone());
            let client = &self.client;
            client.get_stream(uri, session, last, token, headers)
        };
        Ok(self.sorted(self.delegate(send).await?, None))
    }
}

/// The reason why a response to a request that was never made is refused.
const TEXT_ID: &str = "the id of the answer is a text, and ours are numbers";

/// Lists of tools stay rmcp's: they say which arguments of a call become headers.
const fn is_list(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::ListToolsRequest(_)))
}

/// True if rmcp would take "1" for the number 1 of a request of ours.
fn has_text_id(message: &ServerJsonRpcMessage) -> bool {
    let id = match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    };
    matches!(id, Some(RequestId::String(_)))
}

/// The challenge of a refusal that rmcp's client reports.
fn challenge_of(fault: &Fault) -> Option<Challenge> {
    match fault {
        StreamableHttpError::AuthRequired(refused) => {
            Some(Challenge::of(&refused.www_authenticate_header))
        }
        StreamableHttpError::InsufficientScope(refused) => {
            let challenge = Challenge::of(&refused.www_authenticate_header);
            challenge.insufficient_scope.then_some(challenge)
        }
        // Without the header it is one of protocol 2025-03-26.
        StreamableHttpError::UnexpectedServerResponse(words) if words.starts_with("HTTP 401") => {
            Some(Challenge::default())
        }
        StreamableHttpError::Client(fault) if fault.status() == Some(StatusCode::UNAUTHORIZED) => {
            Some(Challenge::default())
        }
        _ => None,
    }
}

/// An empty result as text; serializing it cannot fail.
fn text_of(message: &ServerJsonRpcMessage) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// The fault without the address: it may hold a secret, and the fault is recorded.
fn without_address(fault: Fault) -> Fault {
    match fault {
        StreamableHttpError::Client(fault) => failed(fault),
        other => other,
    }
}

fn failed(fault: reqwest::Error) -> Fault {
    StreamableHttpError::Client(fault.without_url())
}

fn unexpected(reason: impl Into<Cow<'static, str>>) -> Fault {
    StreamableHttpError::UnexpectedServerResponse(reason.into())
}

/// The whole body, at most `most` bytes.
async fn collect(response: &mut Response, most: usize) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if chunk.len() > most.saturating_sub(body.len()) {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: most });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
