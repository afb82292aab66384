//! The client of a server's address: rmcp's own, but for calls. Those are posted with the bytes of their arguments, and their
//! answer is kept as it came.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions as _, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::authorized::{Refused, asked_by};
use super::call_frame;
use super::event_stream::{Broken, Events, events};
use super::frame_head::FrameHead;
use super::response::{EVENT_BYTES, PendingResponse, Received};
use crate::tools::oauth::{Authorization, Challenge};

/// The most bytes of an answer that is no stream.
const BODY_BYTES: usize = 16 << 20;
/// The most bytes of an answer whose status is an error's.
const ERROR_BYTES: usize = 64 << 10;

type Fault = StreamableHttpError<reqwest::Error>;

/// Carries calls byte for byte, and leaves everything else to rmcp.
#[derive(Clone, Debug)]
pub(super) struct CallClient {
    /// Where tokens come from, where there may be any.
    authorization: Option<Arc<Authorization>>,
    client: Client,
}

impl CallClient {
    pub(super) const fn new(client: Client, authorization: Option<Arc<Authorization>>) -> Self {
        Self {
            authorization,
            client,
        }
    }

    /// The token to send now.
    async fn token(&self) -> Option<String> {
        self.authorization.as_ref()?.token().await
    }

    /// Whether a request may be sent again, with another token: it was refused for want of authorization, and so not carried out.
    async fn is_renewed(&self, refused: &Refused<'_>) -> bool {
        match &self.authorization {
            Some(authorization) => refused.is_renewed(authorization).await,
            None => false,
        }
    }

    /// Sends what rmcp makes of a request; once more where it was refused for want of authorization, and another token is there.
    async fn sent<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        given: Option<String>,
        send: impl Fn(Option<String>) -> F,
    ) -> Result<T, Fault> {
        let mut round = 0;
        loop {
            let token = self.token().await;
            let fault = match send(token.clone().or_else(|| given.clone())).await {
                Ok(response) => return Ok(response),
                Err(fault) => fault,
            };
            let Some(challenge) = challenge_of(&fault) else {
                return Err(without_address(fault));
            };
            let refused = Refused::new(token.as_deref(), challenge, round);
            if !self.is_renewed(&refused).await {
                return Err(without_address(fault));
            }
            round += 1;
        }
    }
}

/// What a fault of rmcp's says that the server asks for, if that is authorization.
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

/// A call in flight: its number, and where its response goes.
struct PendingCall {
    id: i64,
    pending: PendingResponse,
}

impl PendingCall {
    /// The call that a message is, or another request whose answer is ours to read, and its frame; none for every other message.
    fn of(message: &ClientJsonRpcMessage) -> Option<io::Result<(Self, Vec<u8>)>> {
        let JsonRpcMessage::Request(request) = message else {
            return None;
        };
        if let ClientRequest::ListToolsRequest(_) = &request.request {
            // rmcp looks at the tools: what goes into headers of calls stands there.
            return None;
        }
        let extensions = request.request.extensions();
        let (pending, RequestId::Number(id)) = (extensions.get::<PendingResponse>()?, &request.id)
        else {
            return None;
        };
        let (pending, id) = (pending.clone(), *id);
        let frame = match pending.arguments.as_deref() {
            Some(arguments) => call_frame::encode(message, arguments.to_owned()),
            None => serde_json::to_vec(message).map_err(Into::into),
        };
        Some(frame.map(|frame| (Self { id, pending }, frame)))
    }

    /// Keeps the bytes of a frame that answers the call; what rmcp is to see in their place.
    fn take(&self, frame: &[u8]) -> Option<ServerJsonRpcMessage> {
        let mut head = FrameHead::default();
        head.feed(frame);
        (head.answered_id() == Some(self.id)).then(|| {
            self.pending.fill(Received::Frame(frame.to_vec()));
            self.answered()
        })
    }

    /// Ends rmcp's request.
    fn answered(&self) -> ServerJsonRpcMessage {
        JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(self.id))
    }

    /// What becomes of an event of the call's stream.
    fn sort(&self, event: Result<Sse, SseError>) -> Result<Sse, SseError> {
        let instead = match &event {
            Ok(event) => event
                .data
                .as_ref()
                .and_then(|data| self.take(data.as_bytes())),
            Err(fault) if Broken::is_too_large(fault) => {
                self.pending.fill(Received::Lost(
                    "an event of the answer is larger than 16 MiB",
                ));
                Some(self.answered())
            }
            Err(_) => None,
        };
        let event = event.map(without_unknown_response);
        match instead {
            // An empty result: serialising it cannot fail.
            Some(instead) => Ok(Sse {
                data: Some(serde_json::to_string(&instead).unwrap_or_default()),
                ..event.unwrap_or_default()
            }),
            None => event,
        }
    }
}

impl StreamableHttpClient for CallClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let largest = BODY_BYTES;
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            largest,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let Some(call) = PendingCall::of(&message) else {
            let send = |token| {
                let (uri, message) = (Arc::clone(&uri), message.clone());
                let (session, headers) = (session_id.clone(), custom_headers.clone());
                let client = &self.client;
                client.post_message_with_max_sse_event_size(
                    uri,
                    message,
                    session,
                    token,
                    headers,
                    max_sse_event_size,
                )
            };
            return without_unknown_responses(self.sent(auth_header, send).await?);
        };
        let (call, frame) = call?;
        let frame = Bytes::from(frame);
        let accept = [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", ");
        let headers: HeaderMap = custom_headers.into_iter().collect();
        let mut round = 0;
        loop {
            let token = self.token().await;
            let mut request = self
                .client
                .post(uri.as_ref())
                .headers(headers.clone())
                .header(ACCEPT, &accept)
                .header(CONTENT_TYPE, JSON_MIME_TYPE);
            if let Some(token) = token.as_ref().or(auth_header.as_ref()) {
                request = request.bearer_auth(token);
            }
            if let Some(session) = &session_id {
                request = request.header(HEADER_SESSION_ID, session.as_ref());
            }
            let response = request.body(frame.clone()).send().await.map_err(failed)?;
            let asked = self.authorization.as_ref().and(asked_by(&response));
            let Some(challenge) = asked else {
                return read(call, response, session_id.is_some(), max_sse_event_size).await;
            };
            let refused = Refused::new(token.as_deref(), challenge, round);
            if !self.is_renewed(&refused).await {
                call.pending.fill(Received::Unauthorized);
                return Ok(StreamableHttpPostResponse::Json(call.answered(), None));
            }
            round += 1;
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let token = self.token().await.or(auth_header);
        self.client
            .delete_session(uri, session_id, token, custom_headers)
            .await
            .map_err(without_address)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Fault> {
        let largest = EVENT_BYTES;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            largest,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<Events, Fault> {
        let send = |token| {
            let (uri, session) = (Arc::clone(&uri), session_id.clone());
            let (last, headers) = (last_event_id.clone(), custom_headers.clone());
            let client = &self.client;
            client.get_stream_with_max_sse_event_size(
                uri,
                session,
                last,
                token,
                headers,
                max_sse_event_size,
            )
        };
        let events = self.sent(auth_header, send).await?;
        Ok(without_unknown_events(events))
    }
}

/// The fault without the address, whose query may be secret: the contract names it.
fn without_address(fault: Fault) -> Fault {
    match fault {
        StreamableHttpError::Client(fault) => StreamableHttpError::Client(fault.without_url()),
        other => other,
    }
}

/// What came back for a call, by its status and its kind.
async fn read(
    call: PendingCall,
    mut response: Response,
    in_session: bool,
    largest_event: usize,
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
            && !answers_unknown_request(&body)
            && let Ok(error @ JsonRpcMessage::Error(_)) = serde_json::from_slice(&body)
        {
            return Ok(StreamableHttpPostResponse::Json(error, session));
        }
        return Err(unexpected(format!("HTTP {status}")));
    }
    if is(EVENT_STREAM_MIME_TYPE) {
        let events = events(response, largest_event);
        let sorted = events.map(move |event| call.sort(event));
        return Ok(StreamableHttpPostResponse::Sse(sorted.boxed(), session));
    }
    if !json {
        return Err(StreamableHttpError::UnexpectedContentType(kind));
    }
    let body = collect(&mut response, BODY_BYTES).await?;
    let seen = match call.take(&body) {
        Some(instead) => instead,
        None if answers_unknown_request(&body) => return Err(unexpected(UNKNOWN_ID.to_owned())),
        None => serde_json::from_slice(&body)
            .map_err(|error| unexpected(format!("the body is no JSON-RPC: {error}")))?,
    };
    Ok(StreamableHttpPostResponse::Json(seen, session))
}

/// The fault of a response to a request that was never made.
const UNKNOWN_ID: &str = "the id of the answer is a text, and ours are numbers";

fn answers_unknown_request(frame: &[u8]) -> bool {
    let mut head = FrameHead::default();
    head.feed(frame);
    head.answers_unknown_request()
}

/// An event without what answers a request that was never made.
fn without_unknown_response(event: Sse) -> Sse {
    match &event.data {
        Some(data) if answers_unknown_request(data.as_bytes()) => Sse {
            data: None,
            ..event
        },
        _ => event,
    }
}

/// The events of a stream that rmcp reads, without responses to requests that were never made.
fn without_unknown_events(events: Events) -> Events {
    let events = events.map(|event| event.map(without_unknown_response));
    events.boxed()
}

/// What rmcp read without us, but for answers with an id that is a text: rmcp would take "1" for our 1.
fn without_unknown_responses(
    response: StreamableHttpPostResponse,
) -> Result<StreamableHttpPostResponse, Fault> {
    match response {
        StreamableHttpPostResponse::Json(
            JsonRpcMessage::Response(rmcp::model::JsonRpcResponse {
                id: RequestId::String(_),
                ..
            })
            | JsonRpcMessage::Error(rmcp::model::JsonRpcError {
                id: Some(RequestId::String(_)),
                ..
            }),
            _,
        ) => Err(unexpected(UNKNOWN_ID.to_owned())),
        StreamableHttpPostResponse::Sse(events, session) => {
            let events = without_unknown_events(events);
            Ok(StreamableHttpPostResponse::Sse(events, session))
        }
        other => Ok(other),
    }
}

/// The address may hold a secret, and the error is recorded.
fn failed(fault: reqwest::Error) -> Fault {
    StreamableHttpError::Client(fault.without_url())
}

fn unexpected(reason: String) -> Fault {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(reason))
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
