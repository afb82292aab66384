//! Errors of authorization. They quote no token, no code and no secret, and of server texts only words of the standards.

use monolith_core::message::char_prefix;

/// An error from getting, storing or refreshing a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OAuthFault {
    /// The server, or the author: an address that no secret may be sent to.
    #[error("use {address} for authorization: {rule}")]
    Address {
        /// The address, without what may be secret.
        address: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The operator: no answer came.
    #[error("reach {address}: {reason}")]
    Unreached {
        /// The address, without what may be secret.
        address: String,
        /// The failure or answer instead.
        reason: String,
    },
    /// The server: a document of its authorization that cannot be used.
    #[error("use {address}: {rule}")]
    Document {
        /// The address, without what may be secret.
        address: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// The server: where it is authorized cannot be found.
    #[error("find the authorization server of {server}: {rule}")]
    NoServer {
        /// The server's address.
        server: String,
        /// The missing part.
        rule: &'static str,
    },
    /// The author: this program cannot register there, and is not registered.
    #[error("register at {issuer}: {rule}")]
    NoClient {
        /// The authorization server.
        issuer: String,
        /// The missing part.
        rule: &'static str,
    },
    /// The authorization server refused.
    #[error("{what}: {issuer} refused with {code}")]
    Refused {
        /// Its word for it, or its status.
        code: String,
        /// The authorization server.
        issuer: String,
        /// The request.
        what: &'static str,
    },
    /// The address that came back from the browser is not the answer to this login.
    #[error("take the answer of the browser: {0}")]
    Answer(&'static str),
    /// The author: the private key cannot sign.
    #[error("sign with the private key: {0}")]
    Key(&'static str),
    /// The operator: tokens cannot be read or written.
    #[error("keep the token: {0}")]
    Store(String),
    /// The operator: no port could be listened on.
    #[error("listen for the answer of the browser: {0}")]
    Listen(String),
    /// The operator: the system gave no randomness.
    #[error("begin a login: the system gave no randomness")]
    Randomness,
    /// The operator: no one finished the login in a browser.
    #[error("log in: no answer came within {0} seconds")]
    TimedOut(u64),
}

/// A word of a standard that a server wrote, such as `invalid_grant`; anything else is not quoted.
pub(super) fn word_of(text: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
    let fits = (1..=64).contains(&text.len()) && text.chars().all(is_word);
    fits.then(|| char_prefix(text, 64).to_owned())
}
