use crate::contract::WireVersions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: WireVersions = WireVersions::LOCAL_HERMES;
/// An embedded model has no paths.
pub(in crate::adapter) const PATH: &str = "";
