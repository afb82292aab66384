use crate::adapter::edition::Editions;

/// What contracts and results call its editions.
pub(in crate::adapter) const VERSIONS: Editions = Editions {
    first: "bedrock-converse/1",
    second: "bedrock-converse/2",
};
/// The version of this build.
#[cfg(test)]
pub(in crate::adapter) const VERSION: &str = VERSIONS.second;
