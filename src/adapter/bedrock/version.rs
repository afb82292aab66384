use crate::contract::WireVersions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: WireVersions = WireVersions::BEDROCK;
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.newest();
