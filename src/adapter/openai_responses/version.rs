/// The version that stands in contracts and results.
pub(in crate::adapter) const VERSION: &str = "openai-responses/1";
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "responses";
