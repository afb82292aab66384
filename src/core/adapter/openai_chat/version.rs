//! The names and path of OpenAI's chat protocol and OpenRouter's dialect. Constants only.

use crate::contract::wire_version;

/// What contracts and results call the adapter.
pub(in crate::adapter) const VERSION: &str = wire_version::OPENAI_CHAT;
/// What contracts and results call the adapter of OpenRouter's dialect.
pub(in crate::adapter) const OPENROUTER_VERSION: &str = wire_version::OPENROUTER_CHAT;
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "chat/completions";
