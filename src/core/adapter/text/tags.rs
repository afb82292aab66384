//! The tags of calls and results in Hermes' and Qwen's form. Constants only.

/// The opening tag of a call in Hermes' form and in Qwen's.
pub(super) const OPEN: &str = "<tool_call>";
/// The closing tag.
pub(super) const CLOSE: &str = "</tool_call>";
