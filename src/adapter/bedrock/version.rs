/// The version that stands in contracts and results.
pub(in crate::adapter) const VERSION: &str = "bedrock-converse/1";
