//! The HTTP client of rmcp's transport: posts requests, calls with the bytes of their arguments, and keeps the answers to calls. It
//! leaves notifications, answers and streams to rmcp's own client.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
use super::frame_text;
use super::pending::{Awaited, PendingResponse, Received, Unanswered, encode};
use super::refusal::{Refusal, encoding};
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
    /// True if the server refused the stream beside the calls, which may bring answers.
    has_no_stream: Arc<AtomicBool>,
}

impl CallClient {
    pub(super) fn new(client: Client, authorization: Option<Arc<Authorization>>) -> Self {
        Self {
            authorization,
            awaited: Awaited::default(),
            client,
            has_no_stream: Arc::default(),
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
        if status == StatusCode::ACCEPTED
            && in_session
            && !self.has_no_stream.load(Ordering::Relaxed)
        {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let text = |name: &str| {
            let value = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let session = text(HEADER_SESSION_ID);
        // Media types compare without case (RFC 9110 §8.3.1).
        let kind = text(CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = kind.trim_start().to_ascii_lowercase();
        let is_empty = matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
        let is_packed = status.is_success() && encoding(response.headers()).is_some();
        let is_readable = !is_empty && !is_packed;
        if status.is_success() && is_readable && kind.starts_with(EVENT_STREAM_MIME_TYPE) {
            let events = self.sorted(events(response), Some(id));
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let http = Refusal::of_http(status, response.headers());
        let is_json = is_readable && kind.starts_with(JSON_MIME_TYPE);
        let body = if !is_json {
            Vec::new()
        } else if status.is_success() {
            collect(&mut response, BODY_BYTES).await?
        } else {
            let body = collect(&mut response, ERROR_BYTES).await;
            body.unwrap_or_default()
        };
        // An error in this body is about this request, whatever its id.
        let refusal = Refusal::in_frame(&body);
        let answer = if status == StatusCode::NOT_FOUND && in_session {
            self.unanswered(id, Unanswered::SessionExpired(refusal), &body)?
        } else if let Some(refusal) = refusal {
            self.unanswered(id, Unanswered::Refused(refusal), &body)?
        } else if !status.is_success() || !is_json {
            self.unanswered(id, Unanswered::Refused(http), &body)?
        } else if let Some(refusal) = Refusal::of_body(status, &body) {
            self.unanswered(id, Unanswered::Refused(refusal), &body)?
        } else {
            let head = FrameHead::of(&body);
            match head.answered_id() {
                Some(answered) if answered == id => match self.awaited.claim(id) {
                    Some(pending) => pending.fill(id, Ok(Received::Frame(body))),
                    None => message_in(&body).map_err(|error| no_message(&error))?,
                },
                Some(_) => return Err(unexpected(OTHER_ID)),
                None if head.answers_unknown_request() => return Err(unexpected(FOREIGN_ID)),
                None => {
                    return Err(match message_in(&body) {
                        Ok(_) => unexpected(NO_ANSWER),
                        Err(error) => no_message(&error),
                    });
                }
            }
        };
        Ok(StreamableHttpPostResponse::Json(answer, session))
    }

    /// Ends the request with that id, which has no result. rmcp gets the error in `frame` if it reads the request itself.
    fn unanswered(
        &self,
        id: i64,
        end: Unanswered,
        frame: &[u8],
    ) -> Result<ServerJsonRpcMessage, Fault> {
        if let Some(pending) = self.awaited.claim(id) {
            return Ok(pending.fill(id, Err(end)));
        }
        match end {
            Unanswered::Lost(reason) => Err(unexpected(reason)),
            Unanswered::Refused(refusal) => {
                error_with_id(frame, id).ok_or_else(|| unexpected(refusal.message))
            }
            Unanswered::SessionExpired(_) => Err(StreamableHttpError::SessionExpired),
        }
    }

    /// The events of a stream without the answers that are kept here and those to requests that were never made. `call` is the id of
    /// the request that the stream answers.
    fn sorted(&self, events: Events, call: Option<i64>) -> Events {
        let client = self.clone();
        let sort = move |event: Result<Sse, SseError>| match event {
            Ok(mut event) => {
                event.data = event.data.and_then(|data| client.sorted_frame(data, call));
                Ok(event)
            }
            Err(fault) => {
                let lost = call.filter(|_| Broken::is_too_large(&fault));
                let lost = lost.and_then(|id| Some((id, client.awaited.claim(id)?)));
                let (id, pending) = lost.ok_or(fault)?;
                let reason = Unanswered::Lost("an event of the answer is larger than 16 MiB");
                Ok(Sse::default().data(text_of(&pending.fill(id, Err(reason)))))
            }
        };
        events.map(sort).boxed()
    }

    /// The frame that rmcp gets for one of a stream.
    fn sorted_frame(&self, data: String, call: Option<i64>) -> Option<String> {
        let head = FrameHead::of(data.as_bytes());
        if let Some((id, pending)) = self.claim(&head) {
            let frame = Received::Frame(data.into_bytes());
            return Some(text_of(&pending.fill(id, Ok(frame))));
        }
        // An error on the stream of a request is about that request, whatever its id.
        if let Some(id) = call
            && head.is_answer()
            && let Some(refusal) = Refusal::in_frame(data.as_bytes())
        {
            let end = Unanswered::Refused(refusal);
            let answer = self.unanswered(id, end, data.as_bytes());
            return answer.ok().map(|answer| text_of(&answer));
        }
        (!head.answers_unknown_request()).then(|| frame_text::of(data.as_bytes()).into_owned())
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
        let Some(id) = request_id(&message) else {
            let send = |token| {
                let (uri, message) = (Arc::clone(&uri), message.clone());
                let (session, headers) = (session_id.clone(), custom_headers.clone());
                let client = &self.client;
                client.post_message(uri, message, session, token, headers)
            };
            return self.delegate(send).await;
        };
        let call = (!is_list(&message)).then(|| self.awaited.note(&message));
        let arguments = call.flatten().and_then(|(_, pending)| pending.arguments);
        let arguments = arguments.as_deref().map(str::to_owned);
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
        let stream = self.delegate(send).await;
        self.has_no_stream.store(stream.is_err(), Ordering::Relaxed);
        Ok(self.sorted(stream?, None))
    }
}

/// The reason why a response to a request that was never made is refused.
const FOREIGN_ID: &str = "the id of the answer is not a whole number; ids of requests are";
/// The reason why a response to another request is refused.
const OTHER_ID: &str = "the answer has the id of another request";
/// The reason why a body with a message that answers nothing is refused.
const NO_ANSWER: &str = "the body holds no answer to the request";

/// Lists of tools stay rmcp's: they say which arguments of a call become headers.
const fn is_list(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::ListToolsRequest(_)))
}

/// The id of a request.
fn request_id(message: &ClientJsonRpcMessage) -> Option<i64> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let RequestId::Number(id) = request.id else {
        return None;
    };
    Some(id)
}

/// A frame as rmcp reads it.
fn message_in(frame: &[u8]) -> Result<ServerJsonRpcMessage, serde_json::Error> {
    serde_json::from_str(&frame_text::of(frame))
}

/// The error that a frame holds, as the answer to the request with that id.
fn error_with_id(frame: &[u8], id: i64) -> Option<ServerJsonRpcMessage> {
    let JsonRpcMessage::Error(error) = message_in(frame).ok()? else {
        return None;
    };
    let id = RequestId::Number(id);
    Some(JsonRpcMessage::error(error.error, Some(id)))
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

fn no_message(error: &serde_json::Error) -> Fault {
    unexpected(format!("the body is not JSON-RPC: {error}"))
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
