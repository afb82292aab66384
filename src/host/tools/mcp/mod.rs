//! MCP servers: started or connected to, called, stopped. The only place that names rmcp.
//!
//! rmcp makes the handshake, numbers and cancels requests, dispatches progress and speaks streamable HTTP. It does not hand out the
//! bytes of an answer, and an answer of the wrong shape becomes another result or is dropped. So a request carries a slot
//! (`PendingResponse`) to the transport, which puts the bytes of the answer there and hands rmcp an empty result that ends the request.
//! Our own decoder judges the bytes, and their hash is recorded. Lists of tools over HTTP are the exception: rmcp reads them, since
//! they say which arguments of a call become headers. docs/design/mcp.md has the reason for each bypass.
//!
//! ```text
//! ask ──request + slot──▶ rmcp ──▶ LineTransport, SseTransport, WebSocketTransport, CallClient ──▶ server
//!  ▲                       ▲                              │ frames
//!  │                       └──────── every other frame ───┤
//!  └── slot ◀── answer to one of the requests in Awaited ─┘
//! ```
//!
//! A child inherits a few variables of the environment (`PATH`, `HOME` and the like, see `process.rs`) and gets the author's map on top.
//! It leads a process group, which is killed when the server is dropped. A supervisor (`supervisor.rs`) also kills every other process
//! that the child has started. The contract grants elicitation, sampling and roots; without a grant a request for them is refused.

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
mod frame_text;
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
mod refusal;
mod response;
mod sampling;
mod server;
mod sse_transport;
mod stderr_tail;
mod tool_list;
mod traced;
mod websocket;

pub(super) use opening::{Endpoint, Timeouts};
pub(super) use server::{McpServer, NotBegun};
