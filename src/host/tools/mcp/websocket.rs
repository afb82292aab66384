//! The transport over a websocket: one JSON-RPC frame a message. Does not know calls.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{CONNECTION, HeaderValue, UPGRADE};
use reqwest::{StatusCode, Upgraded, Version};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Mutex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error as SocketError};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::address::Address;
use super::frame_exchange::FrameExchange;
use super::listener::Changes;
use super::pending::FRAME_BYTES;
use super::stderr_tail::StderrTail;

/// The subprotocol of MCP.
const SUBPROTOCOL: &str = "mcp";

type Socket = WebSocketStream<Upgraded>;

/// JSON-RPC over a websocket, one frame a message.
pub(super) struct WebSocketTransport {
    frames: FrameExchange,
    reader: SplitStream<Socket>,
    writer: Arc<Mutex<SplitSink<Socket, Message>>>,
}

/// The error of a message or of the websocket. It does not name the address, which may hold a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum SocketFault {
    #[error("{0}")]
    Connection(#[source] reqwest::Error),
    #[error("HTTP {} in place of a websocket", .0.as_u16())]
    Status(StatusCode),
    #[error("it did not accept the websocket's key")]
    Key,
    #[error("{0}")]
    Socket(#[from] SocketError),
    #[error("{0}")]
    Message(#[from] io::Error),
}

impl WebSocketTransport {
    /// Opens the websocket (RFC 6455 §4.1). `patience` as for [`FrameExchange`].
    pub(super) async fn connect(
        address: Address,
        (tail, changes): (Arc<StderrTail>, Changes),
        patience: Option<Duration>,
    ) -> Result<Self, SocketFault> {
        let Address {
            client,
            headers,
            url,
            ..
        } = address;
        let key = generate_key();
        let request = client
            .get(url)
            .version(Version::HTTP_11)
            .headers(headers)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-protocol", SUBPROTOCOL)
            .header("sec-websocket-key", &key);
        let response = request.send().await.map_err(failed)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(SocketFault::Status(response.status()));
        }
        let accepted = response.headers().get("sec-websocket-accept");
        let accepted = accepted.map(HeaderValue::as_bytes);
        if accepted != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
            return Err(SocketFault::Key);
        }
        let upgraded = response.upgrade().await.map_err(failed)?;
        let bounds = WebSocketConfig::default()
            .max_message_size(Some(FRAME_BYTES))
            .max_frame_size(Some(FRAME_BYTES));
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(bounds)).await;
        let (writer, reader) = socket.split();
        Ok(Self {
            frames: FrameExchange::new(tail, changes, patience),
            reader,
            writer: Arc::new(Mutex::new(writer)),
        })
    }
}

impl Transport<RoleClient> for WebSocketTransport {
    type Error = SocketFault;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let frame = self.frames.outgoing(&item);
        let writer = Arc::clone(&self.writer);
        async move {
            let text = Utf8Bytes::try_from(frame?).map_err(io::Error::other)?;
            writer.lock().await.send(Message::Text(text)).await?;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = tokio::select! {
                message = self.reader.next() => message?,
                refusal = self.frames.unanswered() => return Some(refusal),
            };
            let frame = match message {
                Ok(Message::Text(text)) => text.as_bytes().to_vec(),
                Ok(Message::Binary(bytes)) => bytes.to_vec(),
                // The socket answers a ping by itself.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Err(SocketError::Capacity(CapacityError::MessageTooLong { .. })) => {
                    self.frames
                        .lose("a message of the answer is larger than 64 MiB");
                    return None;
                }
                Ok(Message::Close(_)) | Err(_) => return None,
            };
            if let Some(message) = self.frames.incoming(frame.into()) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // rmcp drops the socket if closing takes too long.
        Ok(self.writer.lock().await.close().await?)
    }
}

fn failed(fault: reqwest::Error) -> SocketFault {
    SocketFault::Connection(fault.without_url())
}
