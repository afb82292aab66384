use crate::contract::WireVersions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: WireVersions = WireVersions::OLLAMA;
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.newest();
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "api/chat";
