//! The transport to a child process: one JSON-RPC frame a line. Does not know calls.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::call_frame;
use super::line_reader::{Line, LineReader};
use super::listener::Changes;
use super::response::{PendingResponse, Received};
use super::stderr_tail::StderrTail;

/// How long the last output of a child is waited for once it is known to end.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// JSON-RPC over a child's standard streams, one frame a line.
///
/// Answers to requests that carry a [`PendingResponse`] go into it as bytes. Of the rest, rmcp gets what it can read; a line that
/// is neither is ignored, whatever it holds.
pub(super) struct LineTransport<R, W, E> {
    awaited: HashMap<i64, PendingResponse>,
    changes: Changes,
    /// Set once the child no longer takes input: its last output is read, then the connection is over. A failed
    /// write is not reported by itself, for it would hide the child's last words.
    deaf: CancellationToken,
    lines: LineReader<R>,
    stderr: Option<E>,
    tail: Arc<StderrTail>,
    until: Option<Instant>,
    writer: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin, W, E> LineTransport<R, W, E> {
    /// Takes over the streams; lines over `line_limit` bytes are not kept.
    pub(super) fn new(
        stdout: R,
        stdin: W,
        stderr: Option<E>,
        tail: Arc<StderrTail>,
        changes: Changes,
        line_limit: usize,
    ) -> Self {
        Self {
            awaited: HashMap::new(),
            changes,
            deaf: CancellationToken::new(),
            lines: LineReader::new(stdout, line_limit),
            stderr,
            tail,
            until: None,
            writer: Arc::new(Mutex::new(Some(stdin))),
        }
    }

    /// What rmcp is to see of a line.
    fn sort(&mut self, line: Line) -> Option<ServerJsonRpcMessage> {
        if line.head.answers_unknown_request() {
            tracing::debug!("ignored an answer with an id that is no number");
            return None;
        }
        let answered = line
            .head
            .answered_id()
            .and_then(|id| self.awaited.remove(&id).map(|pending| (id, pending)));
        if let Some((id, pending)) = answered {
            pending.fill(line.bytes.map_or(
                Received::TooLarge {
                    length: line.length,
                },
                Received::Frame,
            ));
            let empty = ServerResult::empty(());
            return Some(JsonRpcMessage::response(empty, RequestId::Number(id)));
        }
        let bytes = line.bytes?;
        let frame = bytes
            .strip_prefix(b"\xEF\xBB\xBF".as_slice())
            .unwrap_or(&bytes);
        match serde_json::from_slice(frame) {
            Ok(JsonRpcMessage::Notification(notification))
                if is_list_changed(&notification.notification) =>
            {
                // Counted here and in order: rmcp would report it in a task of its own, maybe after the response that follows.
                self.changes.note();
                None
            }
            Ok(message) => Some(message),
            Err(error) => {
                tracing::debug!(%error, length = line.length, "ignored a line of a tool server");
                self.tail.keep_stray(frame);
                None
            }
        }
    }
}

impl<R, W, E> Transport<RoleClient> for LineTransport<R, W, E>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
    E: AsyncRead + Unpin + Send,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let pending = self.note(&item);
        let line = encode(&item, pending.as_ref());
        let writer = Arc::clone(&self.writer);
        let deaf = self.deaf.clone();
        async move {
            let line = line?;
            let mut writer = writer.lock().await;
            let Some(writer) = writer.as_mut() else {
                return Err(io::ErrorKind::NotConnected.into());
            };
            if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
                deaf.cancel();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let mut buffer = [0_u8; 4_096];
        loop {
            tokio::select! {
                line = self.lines.next() => {
                    let Ok(Some(line)) = line else {
                        let rest = self.drain_stderr();
                        let _ = tokio::time::timeout(LAST_WORDS, rest).await;
                        return None;
                    };
                    if let Some(message) = self.sort(line) {
                        return Some(message);
                    }
                }
                read = read_some(&mut self.stderr, &mut buffer) => match read {
                    Some(length) => self.tail.push(buffer.get(..length).unwrap_or_default()),
                    None => self.stderr = None,
                },
                () = self.deaf.cancelled(), if self.until.is_none() => {
                    self.until = Some(Instant::now() + LAST_WORDS);
                }
                () = end_of(self.until) => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.take();
        Ok(())
    }
}

impl<R, W, E: AsyncRead + Unpin> LineTransport<R, W, E> {
    /// Remembers a request whose answer has a slot, forgets one that is cancelled.
    fn note(&mut self, item: &ClientJsonRpcMessage) -> Option<PendingResponse> {
        match item {
            JsonRpcMessage::Request(request) => {
                let extensions = match &request.request {
                    ClientRequest::CallToolRequest(request) => &request.extensions,
                    ClientRequest::ListToolsRequest(request) => &request.extensions,
                    _ => return None,
                };
                let pending = extensions.get::<PendingResponse>()?.clone();
                if let RequestId::Number(id) = request.id {
                    self.awaited.insert(id, pending.clone());
                }
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

    async fn drain_stderr(&mut self) {
        let mut buffer = [0_u8; 4_096];
        while let Some(length) = match &mut self.stderr {
            Some(stderr) => stderr
                .read(&mut buffer)
                .await
                .ok()
                .filter(|length| *length > 0),
            None => None,
        } {
            self.tail.push(buffer.get(..length).unwrap_or_default());
        }
    }
}

fn is_list_changed(notification: &ServerNotification) -> bool {
    matches!(
        notification,
        ServerNotification::ToolListChangedNotification(_)
    )
}

async fn end_of(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Bytes read; none at the end. Never returns where there is nothing to read from.
async fn read_some<E: AsyncRead + Unpin>(
    source: &mut Option<E>,
    buffer: &mut [u8],
) -> Option<usize> {
    match source {
        Some(source) => source.read(buffer).await.ok().filter(|read| *read > 0),
        None => std::future::pending().await,
    }
}

/// The frame as one line, with the argument text of the pending response byte for byte, if there is any.
fn encode(item: &ClientJsonRpcMessage, pending: Option<&PendingResponse>) -> io::Result<Vec<u8>> {
    let mut line = match pending.and_then(|pending| pending.arguments.as_deref()) {
        None => serde_json::to_vec(item)?,
        // A line feed in JSON text is between tokens only; inside strings it is escaped.
        Some(arguments) => call_frame::encode(item, arguments.replace(['\n', '\r'], " "))?,
    };
    line.push(b'\n');
    Ok(line)
}
