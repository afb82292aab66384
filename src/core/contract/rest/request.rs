//! A request in parts, before it is sent. Sends nothing.

use url::Url;

use super::HttpMethod;

/// A request whose every part is fixed; the headers of the author come on top of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestParts {
    /// The body; `None` if the operation has none.
    pub body: Option<RequestBody>,
    /// Names and values, in the order in which they are sent.
    pub headers: Vec<(String, String)>,
    /// The method.
    pub method: HttpMethod,
    /// The address with path and query.
    pub url: Url,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBody {
    pub bytes: Vec<u8>,
    pub media_type: String,
}

/// Why a call's arguments make no request. The model is to blame, unless the variant says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// An argument is missing that the address needs.
    #[error("the argument `{name}` is needed in the address")]
    Missing {
        /// The name of the parameter.
        name: String,
    },
    /// An argument would lead to another place of the service.
    #[error(
        "the argument `{name}` is {value:?}: a part of a path is neither empty nor made of dots"
    )]
    Path {
        /// The name of the parameter.
        name: String,
        /// The value as text.
        value: String,
    },
    /// An argument cannot be written where it belongs.
    #[error("the argument `{name}` {rule}")]
    Value {
        /// The name of the parameter.
        name: String,
        /// The broken rule.
        rule: &'static str,
    },
    /// The author: the address is none once it is put together.
    #[error("the address is not one that can be asked: {reason}")]
    Address {
        /// The reason.
        reason: String,
    },
}
