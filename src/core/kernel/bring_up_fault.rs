//! A tool server that did not come up, as entry 0 records it. Starts none.

use serde::{Deserialize, Serialize};

/// A tool server that did not come up, that offers other tools than the contract holds, or one of whose tools is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BringUpFault {
    /// The cause, where it has a remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<BringUpCause>,
    /// Message of the system or the server, or the difference; at most 2,048 bytes.
    pub detail: String,
    /// Scopes that a login has to ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The server's name in the contract.
    pub server: String,
}

impl BringUpFault {
    /// Returns a line about a tool that is left out.
    #[must_use]
    pub const fn left_out(server: String, detail: String) -> Self {
        Self {
            cause: Some(BringUpCause::LeftOut),
            detail,
            scopes: Vec::new(),
            server,
        }
    }

    /// Returns a fault without a known cause.
    #[must_use]
    pub const fn new(server: String, detail: String) -> Self {
        Self {
            cause: None,
            detail,
            scopes: Vec::new(),
            server,
        }
    }
}

/// The cause for which a tool server did not come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BringUpCause {
    /// Its program started and ended.
    Ended,
    /// It did not answer in the time that the contract allows.
    Late,
    /// It did not answer in the longest time that any contract allows.
    LateAtLimit,
    /// It wants a token that a login gets.
    Login,
    /// One of its tools is left out of requests, of all or of those to some targets; the others can be used.
    LeftOut,
    /// Its sandbox does not show a path that it named, or shows it read-only.
    MissingPath,
    /// Its sandbox cannot be set up.
    NotConfined,
    /// Its program is not found, or does not start.
    NotStarted,
}
