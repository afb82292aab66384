/// The version that stands in contracts and results.
pub(in crate::adapter) const VERSION: &str = "openai-chat/1";
/// The version of OpenRouter's dialect.
pub(in crate::adapter) const OPENROUTER_VERSION: &str = "openrouter-chat/1";
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "chat/completions";
