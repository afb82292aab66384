use crate::adapter::edition::Editions;
use crate::contract::TargetTerms;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: Editions = Editions {
    first: "google-gemini/1",
    second: "google-gemini/2",
};
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.second;

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
