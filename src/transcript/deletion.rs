//! The signed record of a deleted run. Does not delete anything.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::verify::signers;
use super::{Flaw, LogLeaf, MAX_REASON_BYTES, Note, PublicKey, SecretKey, canonical};
use crate::message::{Digest, MAX_EXACT, RunId};

/// The first line of every note of a deletion.
const TITLE: &str = "monolith deletion v1";

/// The record of a run that was deleted by design, signed by the operator who deleted it. The leaf of a sealed run stays in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// The run.
    pub(crate) run_id: RunId,
    /// How many entries it had.
    pub(crate) entries: u64,
    /// The hash of the last of them.
    pub(crate) head: Digest,
    /// Why; empty if no reason was given.
    pub(crate) reason: String,
    /// When, in milliseconds since 1970-01-01 UTC, by the clock of the machine that deleted it.
    pub(crate) at_unix_ms: u64,
}

impl Deletion {
    /// The text that is signed. The reason is the text of a JSON string, so that it stays on its line.
    pub(crate) fn text(&self) -> String {
        format!(
            "{TITLE}\nrun {}\nentries {}\nhead {}\nreason {}\ntime {}\n",
            self.run_id,
            self.entries,
            self.head,
            canonical::text_of(&self.reason),
            self.at_unix_ms,
        )
    }

    /// Signs it.
    pub(crate) fn sign(&self, key: &SecretKey) -> Note {
        key.sign(self.text())
    }

    /// What a note states; none if it is not exactly that of a deletion.
    pub(crate) fn read(note: &Note) -> Option<Self> {
        let mut lines = note.text().strip_prefix(TITLE)?.split('\n').skip(1);
        let mut value = |key: &str| lines.next()?.strip_prefix(key);
        let stated = Self {
            run_id: RunId::try_from(value("run ")?.to_owned()).ok()?,
            entries: value("entries ")?.parse().ok()?,
            head: value("head ")?.parse().ok()?,
            reason: serde_json::from_str(value("reason ")?).ok()?,
            at_unix_ms: value("time ")?.parse().ok()?,
        };
        let bounded = stated.at_unix_ms <= MAX_EXACT && stated.reason.len() <= MAX_REASON_BYTES;
        (bounded && stated.text() == note.text()).then_some(stated)
    }
}

/// The note of a deletion, read, and who has signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedDeletion {
    /// What it states.
    pub(crate) stated: Deletion,
    /// Those of the known keys that have signed it.
    known: Vec<String>,
    /// The keys that it names as its signers.
    named: Vec<String>,
}

impl SignedDeletion {
    /// Reads a note, and looks which of these keys have signed it.
    ///
    /// # Errors
    /// [`Flaw`] where it is no note of a deletion, or a signature in the name of one of the keys does not hold.
    pub(crate) fn read(text: &str, keys: &[PublicKey]) -> Result<Self, Flaw> {
        let note: Option<Note> = text.parse().ok();
        let read = note.and_then(|note| Some((Deletion::read(&note)?, note)));
        let Some((stated, note)) = read else {
            let expected = "the signed note of a deletion";
            return Err(Flaw::tampered("note", expected, text));
        };
        let named = note.signatures().iter();
        let named = named.map(|signature| format!("{}+{}", signature.name, signature.id));
        Ok(Self {
            known: signers(keys, &note, "note")?,
            named: named.collect(),
            stated,
        })
    }

    /// Whether a known key has signed it.
    pub(crate) const fn is_known(&self) -> bool {
        !self.known.is_empty()
    }

    /// Who signed it, in words.
    pub(crate) fn by(&self) -> String {
        if self.is_known() {
            self.known.join(", ")
        } else {
            format!("{} (not known here)", self.named.join(", "))
        }
    }

    /// Holds it against the text of the leaf that stays of its run.
    ///
    /// # Errors
    /// [`Flaw`] where the leaf is none, or that of another run or of another end.
    pub(crate) fn judge_leaf(&self, leaf: &str) -> Result<(), Flaw> {
        let decoded = LogLeaf::decode(leaf)?;
        let stated = &self.stated;
        if (&decoded.run_id, decoded.entries, decoded.head)
            == (&stated.run_id, stated.entries, stated.head)
        {
            return Ok(());
        }
        Err(Flaw::tampered("note", leaf, stated.text()))
    }
}

impl fmt::Display for SignedDeletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.stated.reason.as_str() {
            "" => "no reason given",
            reason => reason,
        };
        write!(
            f,
            "run {}: deleted by {}, {reason}",
            self.stated.run_id,
            self.by()
        )
    }
}

/// Which runs of a log were deleted, as the maker of a proof states: the tree holds the leaves of deleted runs as of any other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogDeletions {
    /// How many.
    pub(crate) count: u64,
    /// The notes of the first of them.
    pub(crate) notes: Vec<LogDeletion>,
}

/// The deletion of the run of a leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogDeletion {
    /// The number of the leaf, from 0.
    pub(crate) leaf: u64,
    /// The signed note.
    pub(crate) note: String,
}

impl LogDeletions {
    /// The most notes that a proof holds.
    pub(crate) const MOST: usize = 1000;

    /// Whether no run was deleted.
    pub(crate) const fn is_none(&self) -> bool {
        self.count == 0 && self.notes.is_empty()
    }
}
