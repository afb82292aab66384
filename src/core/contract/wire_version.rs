//! The adapter of each wire protocol, as contracts and results name it: the protocol, and the edition of its adapter as the number behind it.
//!
//! A change of what any bytes encode or decode to is a new edition (docs/audit/versions.md).

pub(crate) const ANTHROPIC: &str = "anthropic-messages/1";
pub(crate) const BEDROCK: &str = "bedrock-converse/1";
pub(crate) const GEMINI: &str = "google-gemini/1";
pub(crate) const LOCAL_HERMES: &str = "local-hermes/1";
pub(crate) const OLLAMA: &str = "ollama-chat/1";
pub(crate) const OPENAI_CHAT: &str = "openai-chat/1";
pub(crate) const OPENAI_RESPONSES: &str = "openai-responses/1";
pub(crate) const OPENROUTER_CHAT: &str = "openrouter-chat/1";
