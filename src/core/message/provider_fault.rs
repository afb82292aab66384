//! The closed list of provider faults. Classes only; does not know how a provider reports them.

use serde::{Deserialize, Serialize};

use super::{Digest, Parameter, char_prefix};

/// The kind of a provider's fault: a closed list, the same for every provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderFaultClass {
    /// Too many requests; the target may be tried again later.
    RateLimit,
    /// The key is missing, wrong or not allowed. Fatal.
    Auth,
    /// Billing or quota is used up. Fatal.
    Quota,
    /// No answer, or no further chunk, within `llm_timeout_ms`.
    Timeout,
    /// The connection was refused, reset or cut.
    Network,
    /// The provider or the model failed: 5xx, overload, unknown model.
    Model,
    /// The provider says that the prompt does not fit its window.
    ContextOverflow,
    /// The answer is not one that the protocol knows, and not the model's doing.
    InvalidResponse,
    /// The provider refused the request on grounds of content.
    Refusal,
    /// A content filter stopped the request or the response.
    ContentFilter,
}

impl ProviderFaultClass {
    /// The class as it is written in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::Model => "model",
            Self::ContextOverflow => "context_overflow",
            Self::InvalidResponse => "invalid_response",
            Self::Refusal => "refusal",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// A failed inference: no message came back, for this reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderFault {
    /// The class that decides what follows.
    pub class: ProviderFaultClass,
    /// The error of the provider or the transport; at most 2,048 bytes, for people.
    pub message: String,
    /// Parameters that the provider names as the ones it does not take.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// Set where the same request would fail again: the address, or something in the request, is wrong.
    #[serde(default, skip_serializing_if = "is_false")]
    pub permanent: bool,
    /// The raw answer, where one arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_hash: Option<Digest>,
    /// Milliseconds that the provider asked to wait; only where it was readable and positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Set where the provider says that it has no such model: nothing is gained by asking it again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unknown_model: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands the field over by reference"
)]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl ProviderFault {
    /// True if the same request may succeed later: the network, the load or the server's state is at fault. A status of the
    /// request itself says otherwise, except a timeout and a limit.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        let of_request = |status: u16| (400..500).contains(&status);
        match self.class {
            ProviderFaultClass::RateLimit
            | ProviderFaultClass::Timeout
            | ProviderFaultClass::Network => true,
            ProviderFaultClass::Model | ProviderFaultClass::InvalidResponse => {
                !self.unknown_model && !self.permanent && !self.status.is_some_and(of_request)
            }
            ProviderFaultClass::Auth
            | ProviderFaultClass::Quota
            | ProviderFaultClass::ContextOverflow
            | ProviderFaultClass::Refusal
            | ProviderFaultClass::ContentFilter => false,
        }
    }

    /// A fault of `class` with a message for people, cut to 2,048 bytes.
    #[must_use]
    pub fn new(class: ProviderFaultClass, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(char_prefix(&message, 2048).len());
        Self {
            class,
            message,
            parameters: Vec::new(),
            permanent: false,
            raw_hash: None,
            retry_after_ms: None,
            status: None,
            unknown_model: false,
        }
    }
}
