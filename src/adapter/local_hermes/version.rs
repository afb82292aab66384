/// What contracts and entries call this protocol.
pub(in crate::adapter) const VERSION: &str = "local-hermes/1";
/// An embedded model has no paths.
pub(in crate::adapter) const PATH: &str = "";
