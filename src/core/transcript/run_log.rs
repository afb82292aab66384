//! Leaves and tree heads of the log of runs. Does not store them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::canonical;
use super::checkpoint::log_lines;
use super::merkle::{TreeHash, leaf_hash, tree_root};
use super::{Flaw, Note, SealedOutcome, SecretKey};
use crate::message::{Digest, RunId};

/// The prefix of the first line of every tree head.
const ORIGIN: &str = "monolith/log/";

/// A sealed run, workflow or work item as the log of runs keeps it: one leaf of its Merkle tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogLeaf {
    /// The contract of the run.
    pub contract_hash: Digest,
    /// Number of entries.
    pub entries: u64,
    /// The hash of the last of them.
    pub head: Digest,
    /// The outcome.
    pub outcome: SealedOutcome,
    /// The hash of the receipt of a work item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Digest>,
    /// Its name.
    pub run_id: RunId,
}

/// The log of runs at one size: its name, how many leaves, and the root over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// `monolith/log/` and the name of the log.
    pub origin: String,
    /// Number of leaves.
    pub size: u64,
    /// The root of the tree over them.
    pub root: TreeHash,
}

/// Returns true for a valid name of a log of runs: 16 digits of lower-case hex. The signed text holds the name as a line.
#[must_use]
pub fn is_log_name(name: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == 16 && name.bytes().all(hex)
}

impl LogLeaf {
    /// Its bytes: canonical JSON.
    #[must_use]
    pub fn text(&self) -> String {
        canonical::text_of(self)
    }

    /// Reads a leaf back.
    ///
    /// # Errors
    /// [`Flaw`] where the text is not the canonical text of a leaf.
    pub fn decode(text: &str) -> Result<Self, Flaw> {
        canonical::decode("leaf", text)
    }

    /// Its hash in the tree.
    #[must_use]
    pub fn hash(&self) -> TreeHash {
        leaf_hash(self.text().as_bytes())
    }
}

impl TreeHead {
    /// The head of the log of that name over all of these leaves.
    #[must_use]
    pub fn over(log: &str, leaves: &[TreeHash]) -> Self {
        Self {
            origin: format!("{ORIGIN}{log}"),
            size: u64::try_from(leaves.len()).unwrap_or(u64::MAX),
            root: tree_root(leaves),
        }
    }

    /// The text that is signed: that of a checkpoint of a log (<https://c2sp.org/tlog-checkpoint>).
    #[must_use]
    pub fn text(&self) -> String {
        let root = BASE64.encode(self.root);
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// The name of the log.
    pub(super) fn log(&self) -> &str {
        self.origin.strip_prefix(ORIGIN).unwrap_or_default()
    }

    /// Signs it.
    #[must_use]
    pub fn sign(&self, key: &SecretKey) -> Note {
        key.sign(self.text())
    }

    /// Parses the tree head in a note; none if the note holds no tree head.
    #[must_use]
    pub fn read(note: &Note) -> Option<Self> {
        let (origin, size, root) = log_lines(note.text())?;
        let head = Self {
            origin: origin.to_owned(),
            size,
            root,
        };
        (origin.starts_with(ORIGIN) && head.text() == note.text()).then_some(head)
    }
}
