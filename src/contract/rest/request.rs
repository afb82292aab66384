//! A request in parts, before it is sent. Sends nothing.

use url::Url;

use super::HttpMethod;

/// A request whose every part is fixed; the headers of the author come on top of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestParts {
    pub(crate) body: Option<RequestBody>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) method: HttpMethod,
    pub(crate) url: Url,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) media_type: String,
}

/// Why a call's arguments make no request. The model is to blame, unless the variant says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestFault {
    /// An argument is missing that the address needs.
    #[error("the argument `{name}` is needed in the address")]
    Missing { name: String },
    /// An argument would lead to another place of the service.
    #[error(
        "the argument `{name}` is {value:?}: a part of a path is neither empty nor made of dots"
    )]
    Path { name: String, value: String },
    /// An argument cannot be written where it belongs.
    #[error("the argument `{name}` {rule}")]
    Value { name: String, rule: &'static str },
    /// The author: the address is none once it is put together.
    #[error("the address is not one that can be asked: {reason}")]
    Address { reason: String },
}
