use crate::adapter::edition::Editions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: Editions = Editions {
    first: "anthropic-messages/1",
    second: "anthropic-messages/2",
};
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.second;
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "messages";
