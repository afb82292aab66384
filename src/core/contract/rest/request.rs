//! A request in parts, before it is sent. Sends nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

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

/// The reasons why a call's arguments make no valid request. The model is to blame unless the variant says otherwise.
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

/// A method of HTTP (RFC 9110 §9.3, RFC 5789).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// The method DELETE.
    Delete,
    /// The method GET.
    Get,
    /// The method HEAD.
    Head,
    /// The method OPTIONS.
    Options,
    /// The method PATCH.
    Patch,
    /// The method POST.
    Post,
    /// The method PUT.
    Put,
}

impl HttpMethod {
    /// All of them, in the order in which messages list them.
    pub const ALL: [Self; 7] = [
        Self::Get,
        Self::Head,
        Self::Options,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Delete,
    ];

    /// Returns its name in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }

    /// The method of that name, however it is spelt.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|method| method.as_str().eq_ignore_ascii_case(word))
    }

    /// True if it is a safe method (RFC 9110 §9.2.1).
    #[must_use]
    pub(crate) const fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }

    /// True if arguments that nothing else places become the request body.
    pub(super) const fn has_body(self) -> bool {
        matches!(self, Self::Patch | Self::Post | Self::Put)
    }

    /// Returns the annotations of a tool with this method, in the terms of the built-in tools.
    #[must_use]
    pub fn annotations(self) -> Value {
        json!({
            "destructiveHint": !self.is_safe(),
            "idempotentHint": self.is_safe() || matches!(self, Self::Put | Self::Delete),
            "openWorldHint": true,
            "readOnlyHint": self.is_safe(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_declares_what_http_promises_of_it() {
        let hint = |method: HttpMethod, hint: &str| method.annotations()[hint] == json!(true);
        for method in HttpMethod::ALL {
            let (reads, again) = match method {
                HttpMethod::Get | HttpMethod::Head | HttpMethod::Options => (true, true),
                HttpMethod::Put | HttpMethod::Delete => (false, true),
                HttpMethod::Post | HttpMethod::Patch => (false, false),
            };
            assert_eq!(hint(method, "readOnlyHint"), reads, "{method:?}");
            assert_eq!(hint(method, "destructiveHint"), !reads, "{method:?}");
            assert_eq!(hint(method, "idempotentHint"), again, "{method:?}");
        }
        assert_eq!(HttpMethod::named("get"), Some(HttpMethod::Get));
        assert_eq!(HttpMethod::named("TRACE"), None);
    }
}
