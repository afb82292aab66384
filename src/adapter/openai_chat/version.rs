use crate::adapter::edition::Editions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: Editions = Editions {
    first: "openai-chat/1",
    second: "openai-chat/2",
};
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.second;
/// What contracts and results call its editions.
pub(in crate::adapter) const OPENROUTER_VERSIONS: Editions = Editions {
    first: "openrouter-chat/1",
    second: "openrouter-chat/2",
};
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const OPENROUTER_VERSION: &str = OPENROUTER_VERSIONS.second;
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "chat/completions";
