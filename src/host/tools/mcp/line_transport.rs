//! The transport to a child process: one JSON-RPC frame a line. Does not know calls.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::frame_exchange::FrameExchange;
use super::line_reader::LineReader;
use super::listener::Changes;
use super::stderr_tail::StderrTail;

/// Time to wait for the last output of a child that ends.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// JSON-RPC over a child's standard streams, one frame a line.
pub(super) struct LineTransport<R, W, E> {
    /// Set once the child takes no more input: its last output is read, then the connection ends. A failed write is not reported,
    /// for it would hide the last words of the child.
    deaf: CancellationToken,
    frames: FrameExchange,
    lines: LineReader<R>,
    stderr: Option<E>,
    tail: Arc<StderrTail>,
    until: Option<Instant>,
    writer: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin, W, E> LineTransport<R, W, E> {
    /// Takes over the streams and skips lines over `line_limit` bytes. `patience` as for [`FrameExchange`].
    pub(super) fn new(
        (stdout, stdin, stderr): (R, W, Option<E>),
        tail: Arc<StderrTail>,
        changes: Changes,
        line_limit: usize,
        patience: Option<Duration>,
    ) -> Self {
        Self {
            deaf: CancellationToken::new(),
            frames: FrameExchange::new(Arc::clone(&tail), changes, patience),
            lines: LineReader::new(stdout, line_limit),
            stderr,
            tail,
            until: None,
            writer: Arc::new(Mutex::new(Some(stdin))),
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
        let line = self.frames.outgoing(&item);
        let writer = Arc::clone(&self.writer);
        let deaf = self.deaf.clone();
        async move {
            let mut line = line?;
            line.push(b'\n');
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
                    if let Some(message) = self.frames.incoming(line) {
                        return Some(message);
                    }
                }
                refusal = self.frames.unanswered() => return Some(refusal),
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

async fn end_of(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Returns the number of bytes read, or `None` at the end. Never returns without a source.
async fn read_some<E: AsyncRead + Unpin>(
    source: &mut Option<E>,
    buffer: &mut [u8],
) -> Option<usize> {
    match source {
        Some(source) => source.read(buffer).await.ok().filter(|read| *read > 0),
        None => std::future::pending().await,
    }
}
