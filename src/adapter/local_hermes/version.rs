use crate::adapter::edition::Editions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: Editions = Editions {
    first: "local-hermes/1",
    second: "local-hermes/2",
};
/// An embedded model has no paths.
pub(in crate::adapter) const PATH: &str = "";
