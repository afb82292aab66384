//! The response to one request, read strictly. Does not know what the result means.

use rmcp::model::ServerResult;
use serde_json::value::{RawValue, to_raw_value};

use super::frame_text;
use super::pending::{FRAME_BYTES, Received};
use super::refusal::Refusal;
use monolith_core::message::Members;

/// The reason why a request has no response.
#[derive(Debug)]
pub(super) enum NoResponse {
    Cancelled,
    Lost(String),
    /// The session had ended before the request, so the server did not begin it; the error that came with that, if any.
    SessionExpired(Option<Refusal>),
    TimedOut,
    /// The server wants authorization that cannot be had.
    Unauthorized,
}

/// A response, as bytes or as rmcp read it. rmcp reads answers to requests without a slot, and over HTTP lists of tools.
#[derive(Debug)]
pub(super) enum Response {
    Bytes(Received),
    Decoded(Box<ServerResult>),
    Refused(Refusal),
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
    ) -> Result<Result<T, Refusal>, Malformed> {
        let malformed = |detail, raw| Malformed { detail, raw };
        match self {
            Self::Bytes(Received::TooLarge { length }) => Err(malformed(
                format!("the answer has {length} bytes, more than {FRAME_BYTES}"),
                None,
            )),
            Self::Bytes(Received::Frame(frame)) => {
                let verdict = read(&frame_text::of(&frame)).and_then(|verdict| match verdict {
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
    Refused(Refusal),
}

/// Reads a frame that answers a request of ours: it holds a result or an error, not both (JSON-RPC 2.0 §5). The error text names the
/// mistake.
fn read(frame: &str) -> Result<Verdict<'_>, String> {
    let Members(members) = serde_json::from_str(frame).map_err(|error| error.to_string())?;
    let member = |name: &str| {
        let found = members.iter().rfind(|(key, _)| key == name);
        found
            .map(|(_, value)| *value)
            .filter(|value| value.get() != "null")
    };
    match (member("result"), member("error")) {
        (Some(result), None) => Ok(Verdict::Result(result)),
        (None, Some(error)) => Ok(Verdict::Refused(Refusal::of_error(error))),
        (None, None) => Err("it has neither result nor error".to_owned()),
        (Some(_), Some(_)) => Err("it has both result and error".to_owned()),
    }
}
