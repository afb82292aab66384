//! The handshake of a connection: its request, its time, and the error of one that failed. Sends nothing.

use std::error::Error;
use std::io;

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::stderr_tail::StderrTail;
use crate::tools::ToolServerError;
use monolith_core::contract::McpTerms;
use monolith_core::message::char_prefix;

/// Maximum time for the introduction of a server, whatever the contract allows.
pub(super) const INITIALISE_MS: u64 = 60_000;
/// Maximum size of rmcp's words in an error.
const REASON_BYTES: usize = 512;

/// The request that begins a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// `server/discover`, of protocol 2026-07-28.
    Discover,
    /// `initialize`, of every older protocol.
    Initialize,
    /// `server/discover`, then `initialize` on the same connection if the server refuses.
    Either,
}

impl Handshake {
    /// The same in rmcp's terms.
    pub(super) fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Either => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: None,
            },
        }
    }

    /// The handshake to try after this error. A server of an older protocol may do anything on an unknown request, so `initialize` is
    /// worth a try. A server that refuses `initialize` may have been too slow for the question before it.
    pub(super) fn after(self, error: &ClientInitializeError) -> Option<Self> {
        match (self, error) {
            (Self::Initialize, _) => None,
            (Self::Either, ClientInitializeError::LegacyFallbackFailed { fallback, .. }) => {
                match **fallback {
                    ClientInitializeError::JsonRpcError(_) => Some(Self::Discover),
                    // It may have ended on the first question after the wait for it.
                    ClientInitializeError::ConnectionClosed(_) => Some(Self::Initialize),
                    _ => None,
                }
            }
            (Self::Discover | Self::Either, _) => Some(Self::Initialize),
        }
    }
}

/// The error of a connection that did not begin.
#[derive(Debug)]
pub(super) struct NotIntroduced {
    pub(super) error: ToolServerError,
    /// The handshake to try on another connection.
    pub(super) next: Option<Handshake>,
}

/// The terms on which a connection begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Introduction<'a> {
    pub(super) handshake: Handshake,
    /// Grants of the contract to the other side.
    pub(super) terms: &'a McpTerms,
    /// The time that an error names.
    pub(super) timeout_ms: u64,
    /// The moment when this handshake is given up.
    pub(super) until: Instant,
}

/// Waits for a transport within the time of the introduction. `place` names the other side in messages.
pub(super) async fn reach<T, E: Error + 'static>(
    connecting: impl Future<Output = Result<T, E>>,
    place: &str,
    introduction: &Introduction<'_>,
    cancel: &CancellationToken,
) -> Result<T, ToolServerError> {
    let connected = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ToolServerError::Cancelled),
        connected = tokio::time::timeout_at(introduction.until, connecting) => connected,
    };
    match connected {
        Ok(Ok(transport)) => Ok(transport),
        Ok(Err(fault)) => Err(match reason_unreached(&fault) {
            Some(reason) => ToolServerError::Unreached {
                address: place.to_owned(),
                reason,
            },
            None => ToolServerError::Protocol {
                reason: char_prefix(&fault.to_string(), REASON_BYTES).to_owned(),
                output: String::new(),
                step: "initialise",
            },
        }),
        Err(_) => Err(ToolServerError::TimedOut {
            grants: String::new(),
            output: String::new(),
            step: "initialise",
            longest_ms: INITIALISE_MS,
            timeout_ms: introduction.timeout_ms,
        }),
    }
}

/// The error of a failed handshake, in our words.
pub(super) fn not_introduced(
    error: &ClientInitializeError,
    place: &str,
    tail: &StderrTail,
) -> ToolServerError {
    // If the first question was refused, the error of the second one says more.
    let error = match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fallback,
        error => error,
    };
    if let ClientInitializeError::ConnectionClosed(_) = error {
        return ToolServerError::Exited {
            grants: String::new(),
            status: "it closed the connection".to_owned(),
            output: tail.clauses(),
        };
    }
    match unreached(error) {
        Some(reason) => ToolServerError::Unreached {
            address: place.to_owned(),
            reason,
        },
        None => ToolServerError::Protocol {
            reason: reason_of(error, tail),
            output: tail.clauses(),
            step: "initialise",
        },
    }
}

/// The reason for a server that accepts a connection and sends nothing back.
const CLOSED: &str = "the server closed the connection before it answered";

/// The reason why a server could not be reached, if that is the error. The texts do not say it, but the causes do.
fn unreached(error: &ClientInitializeError) -> Option<&'static str> {
    let ClientInitializeError::TransportError { error, .. } = error else {
        return None;
    };
    reason_unreached(error.error.as_ref())
}

fn reason_unreached(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut cause = Some(error);
    while let Some(one) = cause {
        if let Some(io) = one.downcast_ref::<io::Error>() {
            match io.kind() {
                io::ErrorKind::ConnectionRefused => return Some("connection refused"),
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => return Some(CLOSED),
                // The name that rustls gives to bytes that are no record of TLS.
                _ if io.to_string().contains("InvalidContentType") => {
                    return Some(
                        "the server does not speak TLS there: an address with http may be meant",
                    );
                }
                _ => {}
            }
        }
        let text = one.to_string();
        if text.starts_with("connection closed before message completed") {
            return Some(CLOSED);
        }
        if text.starts_with("dns error") {
            return Some("its host is not found");
        }
        // rmcp names no source for an error of its client.
        cause = match one.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(inner)) => Some(inner),
            _ => one.source(),
        };
    }
    None
}

/// The reason for a failed handshake, in rmcp's words unless they dump a message. The words quote the server, so secrets are removed
/// before the text is cut.
fn reason_of(error: &ClientInitializeError, tail: &StderrTail) -> String {
    let quoted = |words: &str| char_prefix(&tail.scrubbed(words), REASON_BYTES).to_owned();
    match error {
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer is not the result of initialize".to_owned()
        }
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused: {} ({})", quoted(&error.message), error.code.0)
        }
        ClientInitializeError::TransportError { error, .. } => {
            quoted(&words_of(error.error.as_ref()))
        }
        other => quoted(&other.to_string()),
    }
}

/// The words of a transport's error; ours without rmcp's before them.
pub(super) fn words_of(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::UnexpectedServerResponse(words)) => words.clone().into_owned(),
        _ => error.to_string(),
    }
}

/// The reason to end a connection whose server chose a version that monolith does not speak.
pub(super) fn unknown_version(version: &ProtocolVersion) -> Option<String> {
    let known = ProtocolVersion::KNOWN_VERSIONS;
    if known.contains(version) {
        return None;
    }
    let known: Vec<&str> = known.iter().map(ProtocolVersion::as_str).collect();
    Some(format!(
        "the server speaks protocol version {:?}, and monolith speaks {}",
        char_prefix(version.as_str(), REASON_BYTES),
        known.join(", ")
    ))
}
