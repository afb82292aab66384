//! MCP servers: started or connected to, asked, stopped. The only place that names rmcp.
//!
//! rmcp does the handshake, numbers requests, cancels and carries HTTP. It does not decode answers to `tools/call` and
//! `tools/list`: its result type is untagged, so an answer of the wrong shape becomes some other result, and one that
//! fits nothing is dropped and the caller waits for ever. Here the answer's bytes are taken off the line before rmcp
//! sees them, judged by our own decoder and hashed as received; rmcp gets an empty result in their place, which ends
//! its request. Over HTTP the same is done for calls: they are posted with the bytes of their arguments, and the answer in the
//! body or the stream of that request is taken off as it came. What rmcp itself reads there is the rest: the handshake, lists of
//! tools (so pins cover what rmcp knows of a tool), and the answer to a call that comes on another stream, after a reconnection:
//! there a result of the wrong shape is malformed but has no raw hash. A body that is no answer at all counts as a lost connection.
//!
//! ```text
//! ask ──request + slot──▶ rmcp ──▶ LineTransport ──▶ child      (SseTransport, WebSocketTransport: as this one)
//!  ▲                                 │  line
//!  └── slot ◀── answer to our id ────┤
//!                 everything else ──▶ rmcp (handshake, notifications, pings); FrameExchange sorts
//! ```
//!
//! A child gets an environment of its own: a few inherited variables (`PATH`, `HOME` and the like, see `process.rs`) and the author's
//! map on top. It leads its own process group, which is killed when the server is dropped; where this program supervises it
//! (`supervisor.rs`), so is everything else that it has started. What a server may ask of us
//! stands in the contract: elicitation and roots where they are granted; sampling is neither declared nor answered.

mod address;
mod authorized;
mod beside;
mod call_client;
mod call_result;
mod connection;
mod elicitation;
mod event_stream;
mod frame_exchange;
mod frame_head;
mod handshake;
mod line_reader;
mod line_transport;
#[expect(
    deprecated,
    reason = "roots leave the protocol; until they are gone a server may still ask for them"
)]
mod listener;
mod opening;
mod pending;
mod response;
mod sampling;
mod server;
mod sse_transport;
mod stderr_tail;
mod tool_list;
mod traced;
mod websocket;

pub(super) use opening::{Endpoint, Timeouts};
pub(super) use server::McpServer;
