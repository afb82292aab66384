use crate::contract::WireVersions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: WireVersions = WireVersions::OPENAI_CHAT;
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.newest();
/// What contracts and results call its editions.
pub(in crate::adapter) const OPENROUTER_VERSIONS: WireVersions = WireVersions::OPENROUTER_CHAT;
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const OPENROUTER_VERSION: &str = OPENROUTER_VERSIONS.newest();
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "chat/completions";
