//! How a connection begins, and what may still succeed where it did not. Sends nothing.

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// With `server/discover`, as protocol 2026-07-28 does.
    Discover,
    /// With `initialize`, as every protocol before it does.
    Initialize,
    /// With `server/discover`, and where the server refuses that, with `initialize` on the same connection.
    Either,
}

impl Handshake {
    /// As rmcp begins it.
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

    /// What may still succeed after this error. A server of an older protocol may do anything on a request that it does not know, so
    /// whatever it did, `initialize` is worth a try; one that refuses `initialize` may have been too slow for the question before it.
    pub(super) fn after(self, error: &ClientInitializeError) -> Option<Self> {
        match (self, error) {
            (Self::Initialize, _) => None,
            (Self::Either, ClientInitializeError::LegacyFallbackFailed { fallback, .. }) => {
                match **fallback {
                    ClientInitializeError::JsonRpcError(_) => Some(Self::Discover),
                    // It may have ended on the first question all the same, only later than that was waited for.
                    ClientInitializeError::ConnectionClosed(_) => Some(Self::Initialize),
                    _ => None,
                }
            }
            (Self::Discover | Self::Either, _) => Some(Self::Initialize),
        }
    }
}
