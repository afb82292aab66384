//! The name and paths of Gemini's protocol. Constants and one path rule.

use crate::contract::{TargetTerms, wire_version};

/// What contracts and results call the adapter.
pub(in crate::adapter) const VERSION: &str = wire_version::GEMINI;

/// Where requests go, below the base URL: the path names the model and whether the answer streams.
pub(in crate::adapter) fn path(target: &TargetTerms) -> String {
    let model = target.model.replace('?', "%3F");
    let folder = if model.contains('/') { "" } else { "models/" };
    if target.sampling.stream {
        format!("{folder}{model}:streamGenerateContent?alt=sse")
    } else {
        format!("{folder}{model}:generateContent")
    }
}
