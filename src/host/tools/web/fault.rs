//! Why a request to a web service has no answer. Plain data.

use crate::tools::address_guard::AddressRefusal;
use crate::tools::envelope::ToolResponse;
use monolith_core::contract::{OpenapiFault, RequestFault};

/// Why a request to a web service has no answer: an error of the call, never a fault of the run.
#[derive(Debug, thiserror::Error)]
pub(in crate::tools) enum WebFault {
    /// The model: its arguments make no request.
    #[error(transparent)]
    Request(#[from] RequestFault),
    /// The author, or the operator: the host is none that may be asked, or it was not found.
    #[error("{0}")]
    Address(#[from] AddressRefusal),
    /// The author: the description of a service gives no tools.
    #[error("{spec}: {fault}")]
    Description { fault: OpenapiFault, spec: String },
    /// The operator: the file of a description cannot be read.
    #[error("read {path}: {reason}")]
    File { path: String, reason: String },
    /// The network, or the disk: the description did not come in time.
    #[error("the description did not come in time")]
    Late,
    /// The service: it has no such description.
    #[error("the address of the description answered HTTP {status}")]
    NoDescription { status: u16 },
    /// The operator: a header cannot be sent. Its value is not shown.
    #[error("the header {name} holds what no header may hold")]
    Header { name: String },
    /// The service: it leads elsewhere.
    #[error("{from} leads to {to}: {rule}")]
    Redirect {
        from: String,
        rule: &'static str,
        to: String,
    },
    /// The service: it leads on and on.
    #[error("the contract allows {most}")]
    TooManyRedirects { most: String },
    /// The service, or the network: no answer came.
    #[error("{reason}")]
    Unreached { reason: String },
}

impl WebFault {
    const fn code(&self) -> &'static str {
        match self {
            Self::Request(RequestFault::Address { .. }) => "URL_NOT_ALLOWED",
            Self::Request(_) => "INVALID_ARGUMENTS",
            Self::Address(fault) => fault.code(),
            Self::Description { .. }
            | Self::File { .. }
            | Self::Late
            | Self::NoDescription { .. } => "NO_DESCRIPTION",
            Self::Header { .. } => "HEADER_NOT_ALLOWED",
            Self::Redirect { .. } => "REDIRECT_NOT_FOLLOWED",
            Self::TooManyRedirects { .. } => "TOO_MANY_REDIRECTS",
            Self::Unreached { .. } => "UNREACHED",
        }
    }

    /// As what the call came to.
    pub(super) fn response(&self) -> ToolResponse {
        ToolResponse::failed(self.code(), self.to_string())
    }
}
