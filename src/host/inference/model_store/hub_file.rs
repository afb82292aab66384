//! What a hub reports of a file. Does not download it.

use reqwest::Url;

use super::HubReference;

/// A hub's description of a file.
#[derive(Clone, Debug)]
pub struct HubFile {
    /// Its length.
    pub bytes: u64,
    /// The commit that the revision means, where the hub says it.
    pub commit: Option<String>,
    /// Changes with the file.
    pub etag: String,
    /// Under what terms it may be used, where the repository's card says it.
    pub licence: Option<String>,
    /// What was asked for.
    pub reference: HubReference,
    /// Its SHA-256 in lower-case hex, where the hub says it.
    pub sha256: Option<String>,
    pub(super) url: Url,
}

impl HubFile {
    /// Where it is, for people and for keys: without a query.
    pub(super) fn location(&self) -> String {
        location(&self.url)
    }

    /// What messages call it.
    pub(super) fn what(&self) -> String {
        self.reference.to_string()
    }

    /// Where the store says that it came from: the commit, not the branch, where it is known.
    #[must_use]
    pub fn source(&self) -> String {
        let mut exact = self.reference.clone();
        if let Some(commit) = &self.commit {
            exact.revision.clone_from(commit);
        }
        exact.to_string()
    }
}

/// An address without query and fragment.
pub(super) fn location(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    bare.to_string()
}
