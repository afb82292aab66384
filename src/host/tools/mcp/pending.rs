//! Requests whose answers are kept byte for byte, and the frames of messages. Does not know what carries a frame.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions as _, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::refusal::Refusal;

/// Maximum size of a frame that is kept.
pub(super) const FRAME_BYTES: usize = 64 * 1024 * 1024;

/// The bytes of an answer, as far as they were kept.
#[derive(Debug)]
pub(super) enum Received {
    /// The whole frame.
    Frame(Vec<u8>),
    /// A frame that was too large to keep.
    TooLarge {
        /// Its size in bytes.
        length: u64,
    },
}

/// A slot that travels with a request through rmcp to the transport, which fills in the answer.
#[derive(Clone, Debug)]
pub(super) struct PendingResponse {
    /// Argument text to send instead of the values that rmcp holds, so that no number changes on its way.
    pub(super) arguments: Option<Arc<str>>,
    received: Arc<Mutex<Option<Outcome>>>,
}

/// An answer, or the end of a request that has none.
type Outcome = Result<Received, Unanswered>;

/// The end of a request without a result.
#[derive(Clone, Debug)]
pub(super) enum Unanswered {
    /// Its answer is lost, for that reason.
    Lost(&'static str),
    /// The server answered, with no result.
    Refused(Refusal),
    /// The session had ended before the request, so the server did not begin it; the error that came with that, if any.
    SessionExpired(Option<Refusal>),
}

impl PendingResponse {
    pub(super) fn new(arguments: Option<Arc<str>>) -> Self {
        Self {
            arguments,
            received: Arc::default(),
        }
    }

    /// Fills in the answer and returns the empty result that ends the request in rmcp.
    pub(super) fn fill(self, id: i64, received: Outcome) -> ServerJsonRpcMessage {
        *self.lock() = Some(received);
        JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id))
    }

    pub(super) fn take(&self) -> Option<Outcome> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Outcome>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The requests of one connection that carry a [`PendingResponse`], by id, until they are answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Awaited(Arc<Mutex<HashMap<i64, PendingResponse>>>);

impl Awaited {
    /// Adds a request that carries a slot; returns its id and the slot.
    pub(super) fn note(&self, message: &ClientJsonRpcMessage) -> Option<(i64, PendingResponse)> {
        let JsonRpcMessage::Request(request) = message else {
            return None;
        };
        let RequestId::Number(id) = request.id else {
            return None;
        };
        let pending = request.request.extensions().get::<PendingResponse>()?;
        let mut awaited = self.lock();
        // The slot of a request that timed out or was cancelled is held here alone.
        awaited.retain(|_, pending| Arc::strong_count(&pending.received) > 1);
        awaited.insert(id, pending.clone());
        Some((id, pending.clone()))
    }

    /// Removes the slot of the request with that id.
    pub(super) fn claim(&self, id: i64) -> Option<PendingResponse> {
        self.lock().remove(&id)
    }

    /// Removes the slot of the only request that waits; `None` if several do.
    pub(super) fn claim_only(&self) -> Option<(i64, PendingResponse)> {
        let mut awaited = self.lock();
        awaited.retain(|_, pending| Arc::strong_count(&pending.received) > 1);
        let mut ids = awaited.keys().copied();
        let (Some(id), None) = (ids.next(), ids.next()) else {
            return None;
        };
        Some((id, awaited.remove(&id)?))
    }

    /// Ends every request: its answer is lost.
    pub(super) fn lose(&self, reason: &'static str) {
        for (id, pending) in self.lock().drain() {
            pending.fill(id, Err(Unanswered::Lost(reason)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, PendingResponse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Value>,
    method: Option<&'a Value>,
    params: BTreeMap<&'a str, Box<RawValue>>,
}

/// Encodes a message as rmcp would, but with that text as its arguments, byte for byte.
pub(super) fn encode(
    message: &ClientJsonRpcMessage,
    arguments: Option<String>,
) -> io::Result<Vec<u8>> {
    let Some(arguments) = arguments else {
        return Ok(serde_json::to_vec(message)?);
    };
    let frame = serde_json::to_value(message)?;
    let mut params = BTreeMap::new();
    if let Some(members) = frame.get("params").and_then(Value::as_object) {
        for (name, value) in members {
            params.insert(name.as_str(), to_raw_value(value)?);
        }
    }
    params.insert("arguments", RawValue::from_string(arguments)?);
    Ok(serde_json::to_vec(&Call {
        jsonrpc: "2.0",
        id: frame.get("id"),
        method: frame.get("method"),
        params,
    })?)
}
