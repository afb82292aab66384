//! The failures of a transport. Does not classify provider errors.

use monolith_core::message::{ProviderFault, ProviderFaultClass};

/// The failure of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportFaultKind {
    /// No server listens there.
    Refused,
    /// The connection ended before the answer did.
    Reset,
    /// No data arrived within the caller's timeouts, or no connection was made in time.
    Timeout,
    /// The host's name has no address.
    Dns,
    /// The connection could not be secured.
    Tls,
    /// The caller's token was cancelled.
    Cancelled,
    /// A script was asked for more responses than it has lines.
    ScriptExhausted,
    /// The embedded model or its token gate failed, or cannot be there.
    Engine,
    /// Anything else that kept the answer from arriving.
    Other,
}

/// A request that brought no complete answer, for a reason of the transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct TransportFault {
    /// The system's error, for people; holds no key, and of the address neither user nor query.
    pub detail: String,
    /// The kind of fault.
    pub kind: TransportFaultKind,
}

impl TransportFault {
    /// A fault with a detail for people.
    #[must_use]
    pub fn new(kind: TransportFaultKind, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            kind,
        }
    }

    /// The provider class that decides what follows.
    #[must_use]
    pub const fn class(&self) -> ProviderFaultClass {
        match self.kind {
            TransportFaultKind::Timeout => ProviderFaultClass::Timeout,
            TransportFaultKind::ScriptExhausted | TransportFaultKind::Engine => {
                ProviderFaultClass::Model
            }
            TransportFaultKind::Refused
            | TransportFaultKind::Reset
            | TransportFaultKind::Dns
            | TransportFaultKind::Tls
            | TransportFaultKind::Cancelled
            | TransportFaultKind::Other => ProviderFaultClass::Network,
        }
    }

    /// The fault as the machine hears of it.
    #[must_use]
    pub fn into_provider_fault(self) -> ProviderFault {
        ProviderFault::new(self.class(), self.detail)
    }
}
