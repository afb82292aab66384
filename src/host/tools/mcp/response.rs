//! The response to one request, byte for byte. Does not know what the result means.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ServerResult;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

/// Largest frame of a child that is kept.
pub(super) const FRAME_BYTES: usize = 64 * 1024 * 1024;

/// Largest event of a stream.
pub(super) const EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum NoResponse {
    Cancelled,
    Lost(String),
    TimedOut,
    /// The server wants authorization that is not there.
    Unauthorized,
}

/// The bytes of a response, as far as they were kept.
#[derive(Debug)]
pub(super) enum Received {
    /// The whole frame.
    Frame(Vec<u8>),
    /// The result cannot be known.
    Lost(&'static str),
    /// A frame that was too large to keep.
    TooLarge {
        /// Its size in bytes.
        length: u64,
    },
    /// The request was refused for want of authorization, and so not carried out.
    Unauthorized,
}

impl Received {
    /// Why it is no response at all.
    pub(super) const fn lost(&self) -> Option<&'static str> {
        match self {
            Self::Lost(reason) => Some(reason),
            Self::Frame(_) | Self::TooLarge { .. } | Self::Unauthorized => None,
        }
    }
}

/// Travels with a request through rmcp to the transport, which fills in the response.
#[derive(Clone, Debug)]
pub(super) struct PendingResponse {
    /// Argument text to send instead of what rmcp holds, so that no number changes on its way.
    pub(super) arguments: Option<Arc<str>>,
    received: Arc<Mutex<Option<Received>>>,
}

impl PendingResponse {
    pub(super) fn new(arguments: Option<Arc<str>>) -> Self {
        Self {
            arguments,
            received: Arc::default(),
        }
    }

    pub(super) fn fill(&self, received: Received) {
        *self.received.lock().unwrap_or_else(PoisonError::into_inner) = Some(received);
    }

    pub(super) fn take(&self) -> Option<Received> {
        self.received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// A response: as bytes, or as rmcp read it. The latter if it came over HTTP and not to a call, or on another stream.
#[derive(Debug)]
pub(super) enum Response {
    Bytes(Received),
    Decoded(Box<ServerResult>),
    Refused(RpcError),
}

/// A response that does not fit its request.
pub(super) struct Malformed {
    pub(super) detail: String,
    /// Its bytes, where they were kept.
    pub(super) raw: Option<Vec<u8>>,
}

impl Response {
    /// Hands the result to `decode`. The inner error is the server's own, the outer one says that there is no valid response.
    pub(super) fn decode<T>(
        self,
        decode: impl FnOnce(&RawValue) -> Result<T, String>,
    ) -> Result<Result<T, RpcError>, Malformed> {
        let malformed = |detail, raw| Malformed { detail, raw };
        match self {
            Self::Bytes(Received::TooLarge { length }) => Err(malformed(
                format!("the answer has {length} bytes, more than {FRAME_BYTES}"),
                None,
            )),
            Self::Bytes(Received::Lost(reason)) => Err(malformed(reason.to_owned(), None)),
            Self::Bytes(Received::Unauthorized) => {
                Err(malformed("the server wants authorization".to_owned(), None))
            }
            Self::Bytes(Received::Frame(frame)) => {
                let verdict = read(&frame).and_then(|verdict| match verdict {
                    Verdict::Result(result) => decode(result).map(Ok),
                    Verdict::Refused(error) => Ok(Err(error)),
                });
                verdict.map_err(|detail| malformed(detail, Some(frame)))
            }
            Self::Decoded(result) => to_raw_value(&result)
                .map_err(|error| error.to_string())
                .and_then(|result| decode(&result))
                .map(Ok)
                .map_err(|detail| malformed(detail, None)),
            Self::Refused(error) => Ok(Err(error)),
        }
    }
}

/// The content of a JSON-RPC frame.
enum Verdict<'a> {
    /// The text of its result.
    Result(&'a RawValue),
    /// The server refused.
    Refused(RpcError),
}

/// A JSON-RPC error object.
#[derive(Debug, Deserialize)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    jsonrpc: String,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// Reads a frame that answers a request of ours; the error text names the fault.
fn read(frame: &[u8]) -> Result<Verdict<'_>, String> {
    let text = std::str::from_utf8(frame).map_err(|error| format!("not UTF-8: {error}"))?;
    let text = text.trim_start_matches('\u{feff}');
    let frame: Frame<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if frame.jsonrpc != "2.0" {
        return Err(format!("jsonrpc is {:?}, not \"2.0\"", frame.jsonrpc));
    }
    match (frame.result, frame.error) {
        (Some(result), None) => Ok(Verdict::Result(result)),
        (None, Some(error)) => serde_json::from_str(error.get())
            .map(Verdict::Refused)
            .map_err(|error| format!("its error object: {error}")),
        (None, None) => Err("it has neither result nor error".to_owned()),
        (Some(_), Some(_)) => Err("it has both result and error".to_owned()),
    }
}
