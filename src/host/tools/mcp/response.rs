//! The response to one request, read strictly. Does not know what the result means.

use rmcp::model::ServerResult;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::pending::{FRAME_BYTES, Received};

/// The reason why a request has no response.
#[derive(Debug)]
pub(super) enum NoResponse {
    Cancelled,
    Lost(String),
    TimedOut,
    /// The server wants authorization that cannot be had.
    Unauthorized,
}

/// A response, as bytes or as rmcp read it. rmcp reads answers to requests without a slot, and over HTTP lists of tools and refusals
/// with an HTTP error status.
#[derive(Debug)]
pub(super) enum Response {
    Bytes(Received),
    Decoded(Box<ServerResult>),
    Refused(RpcError),
}

/// A response that does not fit its request.
pub(super) struct Malformed {
    pub(super) detail: String,
    /// Its bytes, if they were kept.
    pub(super) raw: Option<Vec<u8>>,
}

impl Response {
    /// Decodes the result. The inner error is the refusal of the server, the outer one an invalid response.
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

/// Reads a frame that answers a request of ours; the error text names the mistake.
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
