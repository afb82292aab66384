//! The endpoint that the live cases ask.

use monolith_core::contract::ProviderType;
use monolith_core::session::RedactionKey;

/// The endpoint that is asked, and how long.
#[derive(Clone, Debug)]
pub struct LiveTarget {
    /// The variable that holds the key, where one is needed.
    pub api_key_env: Option<String>,
    /// The address below which the protocol's paths lie.
    pub base_url: String,
    /// The window to be assumed, in tokens.
    pub context_window: u64,
    /// The model's name at the server.
    pub model: String,
    /// The wire protocol.
    pub provider: ProviderType,
    /// What the salts of the runs come from.
    pub redaction_key: RedactionKey,
    /// The command, with its arguments, of a tool server on its standard streams that offers `wait` and never answers a call.
    pub slow_tool: Vec<String>,
    /// How long nothing may arrive, in milliseconds.
    pub timeout_ms: u64,
}
