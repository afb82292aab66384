//! What is sent and received over a connection, frame by frame. Does not know what carries the frames.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, DiscoverRequestMethod, ErrorData,
    GetExtensions as _, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerResult,
};
use tokio::time::Instant;

use super::call_frame;
use super::line_reader::Line;
use super::listener::Changes;
use super::response::{PendingResponse, Received};
use super::stderr_tail::StderrTail;

/// Sorts the frames of one connection. Responses to requests that carry a [`PendingResponse`] go into it as bytes. Of the rest, rmcp
/// gets what it can read; a frame that is neither is ignored, whatever it holds.
#[derive(Debug)]
pub(super) struct FrameExchange {
    awaited: HashMap<i64, PendingResponse>,
    changes: Changes,
    probe: Probe,
    tail: Arc<StderrTail>,
}

/// The question whether the server speaks the protocol without `initialize`.
#[derive(Debug, Default)]
struct Probe {
    /// How long the server has to answer it; none: as long as it likes.
    patience: Option<Duration>,
    /// Its id, until it is answered, and when it counts as refused.
    sent: Option<(i64, Option<Instant>)>,
    /// The id of one that counts as refused: an answer to it comes too late.
    refused: Option<i64>,
}

impl FrameExchange {
    /// `patience` is how long `server/discover` may go unanswered; then it counts as refused.
    pub(super) fn new(tail: Arc<StderrTail>, changes: Changes, patience: Option<Duration>) -> Self {
        Self {
            awaited: HashMap::new(),
            changes,
            probe: Probe {
                patience,
                ..Probe::default()
            },
            tail,
        }
    }

    /// The bytes of a message, with the argument text of the pending response byte for byte, if there is any. Without line feeds:
    /// in JSON text they are between tokens only; inside strings they are escaped.
    pub(super) fn outgoing(&mut self, item: &ClientJsonRpcMessage) -> io::Result<Vec<u8>> {
        let pending = self.note(item);
        match pending.and_then(|pending| pending.arguments) {
            None => Ok(serde_json::to_vec(item)?),
            Some(arguments) => call_frame::encode(item, arguments.replace(['\n', '\r'], " ")),
        }
    }

    /// Remembers a request whose answer has a slot, forgets one that is cancelled.
    fn note(&mut self, item: &ClientJsonRpcMessage) -> Option<PendingResponse> {
        match item {
            JsonRpcMessage::Request(request) => {
                let RequestId::Number(id) = request.id else {
                    return None;
                };
                if let ClientRequest::DiscoverRequest(_) = &request.request {
                    let until = self
                        .probe
                        .patience
                        .map(|patience| Instant::now() + patience);
                    self.probe.sent = Some((id, until));
                }
                let extensions = request.request.extensions();
                let pending = extensions.get::<PendingResponse>()?.clone();
                self.awaited.insert(id, pending.clone());
                Some(pending)
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(RequestId::Number(id)) = &cancelled.params.request_id
                {
                    self.awaited.remove(id);
                }
                None
            }
            _ => None,
        }
    }

    /// What rmcp is to see of a frame.
    pub(super) fn incoming(&mut self, frame: Line) -> Option<ServerJsonRpcMessage> {
        if frame.head.answers_unknown_request() {
            tracing::debug!("ignored an answer with an id that is no number");
            return None;
        }
        let answered = frame.head.answered_id();
        if answered.is_some() && answered == self.probe.refused {
            return None;
        }
        if answered.is_some() && answered == self.probe.sent.map(|(id, _)| id) {
            self.probe.sent = None;
        }
        let answered = answered.and_then(|id| Some((id, self.awaited.remove(&id)?)));
        if let Some((id, pending)) = answered {
            pending.fill(frame.bytes.map_or(
                Received::TooLarge {
                    length: frame.length,
                },
                Received::Frame,
            ));
            let empty = ServerResult::empty(());
            return Some(JsonRpcMessage::response(empty, RequestId::Number(id)));
        }
        let bytes = frame.bytes?;
        let text = bytes
            .strip_prefix(b"\xEF\xBB\xBF".as_slice())
            .unwrap_or(&bytes);
        match serde_json::from_slice(text) {
            Ok(JsonRpcMessage::Notification(notification))
                if is_list_changed(&notification.notification) =>
            {
                // Counted here and in order: rmcp would report it in a task of its own, maybe after the response that follows.
                self.changes.note();
                None
            }
            Ok(message) => Some(message),
            Err(error) => {
                tracing::debug!(%error, length = frame.length, "ignored a frame of a tool server");
                self.tail.keep_stray(text);
                None
            }
        }
    }

    /// Ends every request that awaits its answer: that is lost.
    pub(super) fn lose(&mut self, reason: &'static str) {
        for (_, pending) in self.awaited.drain() {
            pending.fill(Received::Lost(reason));
        }
    }

    /// Waits until the question for the newer protocol has gone unanswered for too long, and gives the refusal that rmcp is to see in
    /// place of an answer. May be dropped and called again.
    pub(super) async fn unanswered(&mut self) -> ServerJsonRpcMessage {
        let Some((id, Some(until))) = self.probe.sent else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(until).await;
        self.probe.sent = None;
        self.probe.refused = Some(id);
        JsonRpcMessage::error(
            ErrorData::method_not_found::<DiscoverRequestMethod>(),
            Some(RequestId::Number(id)),
        )
    }
}

fn is_list_changed(notification: &ServerNotification) -> bool {
    matches!(
        notification,
        ServerNotification::ToolListChangedNotification(_)
    )
}
