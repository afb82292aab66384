//! Sorts the messages of a connection whose frames are read here: one of lines, events or a websocket. Does not know which.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, DiscoverRequestMethod, ErrorData, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage, ServerNotification,
};
use tokio::time::Instant;

use super::frame_text;
use super::line_reader::Line;
use super::listener::Changes;
use super::pending::{Awaited, Received, Unanswered, encode};
use super::refusal::Refusal;
use super::stderr_tail::StderrTail;

/// Sorts the frames of one connection: the answers that [`Awaited`] asks for are kept as bytes, rmcp gets every other frame that it
/// can read, and the rest is ignored.
#[derive(Debug)]
pub(super) struct FrameExchange {
    awaited: Awaited,
    changes: Changes,
    probe: Probe,
    tail: Arc<StderrTail>,
}

/// The question that tells if the server speaks the protocol without `initialize`.
#[derive(Debug, Default)]
struct Probe {
    /// Time that the server has to answer; unlimited if `None`.
    patience: Option<Duration>,
    /// Its id and when it counts as refused, until it is answered.
    sent: Option<(i64, Option<Instant>)>,
    /// Id of a question that counts as refused: a later answer is ignored.
    refused: Option<i64>,
}

impl FrameExchange {
    /// `patience` is the time that `server/discover` may go unanswered before it counts as refused.
    pub(super) fn new(tail: Arc<StderrTail>, changes: Changes, patience: Option<Duration>) -> Self {
        Self {
            awaited: Awaited::default(),
            changes,
            probe: Probe {
                patience,
                ..Probe::default()
            },
            tail,
        }
    }

    /// Encodes a message on one line, with the argument text of its slot if it has one. Line feeds in JSON text are between tokens
    /// only; inside strings they are escaped.
    pub(super) fn outgoing(&mut self, item: &ClientJsonRpcMessage) -> io::Result<Vec<u8>> {
        if let JsonRpcMessage::Request(request) = item
            && let (ClientRequest::DiscoverRequest(_), RequestId::Number(id)) =
                (&request.request, &request.id)
        {
            let patience = self.probe.patience;
            self.probe.sent = Some((*id, patience.map(|patience| Instant::now() + patience)));
        }
        let arguments = self
            .awaited
            .note(item)
            .and_then(|(_, pending)| pending.arguments);
        encode(item, arguments.map(|text| text.replace(['\n', '\r'], " ")))
    }

    /// Returns the message that rmcp gets for a frame, if any.
    pub(super) fn incoming(&mut self, frame: Line) -> Option<ServerJsonRpcMessage> {
        if frame.head.answers_unknown_request() {
            tracing::debug!("ignored an answer whose id is not a whole number");
            return None;
        }
        if let Some(id) = frame.head.answered_id() {
            if self.probe.refused == Some(id) {
                return None;
            }
            self.probe.sent.take_if(|sent| sent.0 == id);
            if let Some(pending) = self.awaited.claim(id) {
                let length = frame.length;
                let received = frame
                    .bytes
                    .map_or(Received::TooLarge { length }, Received::Frame);
                return Some(pending.fill(id, Ok(received)));
            }
        }
        let bytes = frame.bytes?;
        // The server could not read a request, and so does not name it: with one in flight, it is that one.
        if frame.head.is_answer_without_id()
            && let Some(refusal) = Refusal::in_frame(&bytes).filter(Refusal::is_of_unread_frame)
            && let Some((id, pending)) = self.awaited.claim_only()
        {
            return Some(pending.fill(id, Err(Unanswered::Refused(refusal))));
        }
        let text = frame_text::of(&bytes);
        match serde_json::from_str(&text) {
            Ok(JsonRpcMessage::Notification(told))
                if matches!(
                    told.notification,
                    ServerNotification::ToolListChangedNotification(_)
                ) =>
            {
                // rmcp reports a notification in a task, maybe after the answer that follows it; here the order is kept.
                self.changes.note();
                None
            }
            Ok(message) => Some(message),
            Err(error) => {
                tracing::debug!(%error, length = frame.length, "ignored a frame of a tool server");
                self.tail.keep_stray(text.as_bytes());
                None
            }
        }
    }

    /// The requests whose answers are kept as bytes.
    pub(super) const fn awaited(&self) -> &Awaited {
        &self.awaited
    }

    /// Ends every request that awaits its answer: that is lost.
    pub(super) fn lose(&self, reason: &'static str) {
        self.awaited.lose(reason);
    }

    /// Waits until the question for the newer protocol has gone unanswered for too long; returns a refusal for rmcp. Cancel-safe.
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
