//! Why a backend cannot be built. Faults of requests are `TransportFault`s.

/// Why a backend cannot be built: the author of the configuration is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The address is no http or https URL.
    #[error("base URL {got:?} is not an http or https URL: {rule}")]
    BaseUrl {
        /// The address, cut to 200 characters.
        got: String,
        /// What is wrong with it.
        rule: String,
    },
    /// A header's name or value holds bytes that no header may hold; the value is not shown.
    #[error("header {name:?} has a name or value that cannot be sent")]
    Header {
        /// The header's name.
        name: String,
    },
    /// The HTTP client could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}
