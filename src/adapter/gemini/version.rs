use crate::contract::{TargetTerms, WireVersions};

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: WireVersions = WireVersions::GEMINI;
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.newest();

/// Where requests go, below the base URL: the model and the manner of the answer stand in the path.
pub(in crate::adapter) fn path(target: &TargetTerms) -> String {
    let model = target.model.replace('?', "%3F");
    let folder = if model.contains('/') { "" } else { "models/" };
    if target.sampling.stream {
        format!("{folder}{model}:streamGenerateContent?alt=sse")
    } else {
        format!("{folder}{model}:generateContent")
    }
}
