/// What stands before a call in Hermes' form and in Qwen's.
pub(super) const OPEN: &str = "<tool_call>";
/// What stands after it.
pub(super) const CLOSE: &str = "</tool_call>";
