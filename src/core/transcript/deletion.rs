//! The signed record of a deleted run. Does not delete anything.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::verify::signers;
use super::{
    Flaw, LogLeaf, MAX_REASON_BYTES, Note, PublicKey, SecretKey, TreeHash, canonical, is_log_name,
    leaf_hash,
};
use crate::message::{Digest, MAX_EXACT, RunId, escaped_line};

/// The first line of every note of a deletion.
const TITLE: &str = "monolith deletion v1";

/// Text in a note for a run without a seal, and so without a leaf.
const NO_LEAF: &str = "none";

/// The record of a run that was deleted by design, signed by the operator who deleted it. The leaf of a sealed run stays in the log.
///
/// It is signed for one log and one leaf: the note of another store, or of an earlier run of that name, says nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The name of the log of the store that it was deleted from.
    pub log: String,
    /// The leaf that stays of it; `None` if it had no seal.
    pub leaf: Option<DeletedLeaf>,
    /// The run.
    pub run_id: RunId,
    /// Number of its entries.
    pub entries: u64,
    /// The hash of the last of them.
    pub head: Digest,
    /// The run that it comes from, and the entry of that; none if it comes from no other.
    pub parent: Option<DeletedParent>,
    /// Reason; empty if none was given.
    pub reason: String,
    /// When, in milliseconds since 1970-01-01 UTC, by the clock of the machine that deleted it.
    pub at_unix_ms: u64,
}

/// The leaf that stays of a deleted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedLeaf {
    /// Its number, from 0.
    pub index: u64,
    /// Its hash in the tree.
    pub hash: TreeHash,
}

impl fmt::Display for DeletedLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.index, BASE64.encode(self.hash))
    }
}

impl DeletedLeaf {
    /// Returns a text's leaf in a log.
    pub fn of(index: u64, text: &str) -> Self {
        let hash = leaf_hash(text.as_bytes());
        Self { index, hash }
    }

    fn read(text: &str) -> Option<Self> {
        let (index, hash) = text.split_once(' ')?;
        Some(Self {
            index: index.parse().ok()?,
            hash: BASE64.decode(hash).ok()?.try_into().ok()?,
        })
    }
}

/// The run that a deleted run comes from: it was forked from it, continued it, or was begun below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedParent {
    /// Its name.
    pub run_id: RunId,
    /// Its head when the deleted run was begun. A later run of the same name has no entry with this hash.
    pub head: Digest,
}

impl DeletedParent {
    fn read(text: &str) -> Option<Self> {
        let (run_id, head) = text.split_once(' ')?;
        Some(Self {
            run_id: RunId::try_from(run_id.to_owned()).ok()?,
            head: head.parse().ok()?,
        })
    }
}

impl fmt::Display for DeletedParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.run_id, self.head)
    }
}

/// A leaf, or the word for none.
fn leaf_text(leaf: Option<DeletedLeaf>) -> String {
    leaf.map_or_else(|| NO_LEAF.to_owned(), |leaf| leaf.to_string())
}

impl Deletion {
    /// The text that is signed. The reason is the text of a JSON string, so that it stays on its line.
    pub fn text(&self) -> String {
        let parent = self.parent.as_ref();
        let parent = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
        format!(
            "{TITLE}\nlog {}\nleaf {}\nrun {}\nentries {}\nhead {}\n{parent}reason {}\ntime {}\n",
            self.log,
            leaf_text(self.leaf),
            self.run_id,
            self.entries,
            self.head,
            canonical::text_of(&self.reason),
            self.at_unix_ms,
        )
    }

    /// Signs it.
    pub fn sign(&self, key: &SecretKey) -> Note {
        key.sign(self.text())
    }

    /// Reads the statement of a note; `None` if it is not exactly that of a deletion.
    pub fn read(note: &Note) -> Option<Self> {
        let lines = note.text().strip_prefix(TITLE)?.split('\n').skip(1);
        let mut lines = lines.peekable();
        // The value of the next line, where it has that key.
        let mut value = |key: &str| {
            let line = lines.next_if(|line| line.starts_with(key))?;
            line.strip_prefix(key)
        };
        let stated = Self {
            log: value("log ")?.to_owned(),
            leaf: match value("leaf ")? {
                NO_LEAF => None,
                leaf => Some(DeletedLeaf::read(leaf)?),
            },
            run_id: RunId::try_from(value("run ")?.to_owned()).ok()?,
            entries: value("entries ")?.parse().ok()?,
            head: value("head ")?.parse().ok()?,
            parent: match value("parent ") {
                None => None,
                Some(parent) => Some(DeletedParent::read(parent)?),
            },
            reason: serde_json::from_str(value("reason ")?).ok()?,
            at_unix_ms: value("time ")?.parse().ok()?,
        };
        let bounded = stated.at_unix_ms <= MAX_EXACT && stated.reason.len() <= MAX_REASON_BYTES;
        let bounded = bounded && is_log_name(&stated.log);
        (bounded && stated.text() == note.text()).then_some(stated)
    }
}

/// The note of a deletion, read, and who has signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDeletion {
    /// Its statement.
    pub stated: Deletion,
    /// The known keys that have signed it.
    known: Vec<String>,
    /// The keys that it names as its signers.
    named: Vec<String>,
}

impl SignedDeletion {
    /// Reads a note, and looks which of these keys have signed it.
    ///
    /// # Errors
    /// [`Flaw`] where it is no note of a deletion, or a signature in the name of one of the keys does not hold.
    pub fn read(text: &str, keys: &[PublicKey]) -> Result<Self, Flaw> {
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

    /// True if a known key has signed it.
    pub const fn is_known(&self) -> bool {
        !self.known.is_empty()
    }

    /// Who signed it, in words.
    pub fn by(&self) -> String {
        if self.is_known() {
            self.known.join(", ")
        } else {
            format!("{} (not known here)", self.named.join(", "))
        }
    }

    /// Holds it against the log that it stands in, and the number of the leaf that it stands for there.
    ///
    /// # Errors
    /// [`Flaw`] where it was signed for another log or another leaf.
    pub fn judge_place(&self, log: &str, index: Option<u64>) -> Result<(), Flaw> {
        let stated = &self.stated;
        if stated.log != log {
            let expected = format!("a deletion that was signed for log {log}");
            return Err(Flaw::tampered("log", expected, &stated.log));
        }
        if stated.leaf.map(|leaf| leaf.index) != index {
            let index = index.map_or_else(|| NO_LEAF.to_owned(), |index| index.to_string());
            let expected = format!("a deletion that was signed for leaf {index}");
            return Err(Flaw::tampered("leaf", expected, leaf_text(stated.leaf)));
        }
        Ok(())
    }

    /// Holds it against the leaf that stays of its run: its number and its text.
    ///
    /// # Errors
    /// [`Flaw`] where the leaf is none, or that of another run or of another end.
    pub fn judge_leaf(&self, index: u64, text: &str) -> Result<(), Flaw> {
        let decoded = LogLeaf::decode(text)?;
        let stated = &self.stated;
        let agrees = (&decoded.run_id, decoded.entries, decoded.head)
            == (&stated.run_id, stated.entries, stated.head);
        if agrees && stated.leaf == Some(DeletedLeaf::of(index, text)) {
            return Ok(());
        }
        Err(Flaw::tampered("note", text, stated.text()))
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
            "run {}: deleted by {}, {}",
            self.stated.run_id,
            escaped_line(&self.by()),
            escaped_line(reason)
        )
    }
}

/// The deleted runs of a log, as the maker of a proof states: the tree keeps the leaves of deleted runs like any other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogDeletions {
    /// Their count.
    pub count: u64,
    /// The notes of the first of them.
    pub notes: Vec<LogDeletion>,
}

/// The deletion of the run of a leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogDeletion {
    /// The number of the leaf, from 0.
    pub leaf: u64,
    /// The signed note.
    pub note: String,
}

impl LogDeletions {
    /// The most notes that a proof holds.
    pub const MOST: usize = 1000;

    /// True if no run was deleted.
    pub const fn is_none(&self) -> bool {
        self.count == 0 && self.notes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_is_read_as_it_was_written_and_no_other_way() {
        let key = SecretKey::from_seed("local", &[1; 32]).unwrap();
        let sealed = Deletion {
            log: "0123456789abcdef".to_owned(),
            leaf: Some(DeletedLeaf::of(7, "x")),
            run_id: RunId::try_from("r-1".to_owned()).unwrap(),
            entries: 24,
            head: Digest::of(b"the last entry"),
            parent: None,
            reason: "asked for\nby \"them\" é".to_owned(),
            at_unix_ms: 1_790_000_000_000,
        };
        let open = Deletion {
            leaf: None,
            ..sealed.clone()
        };
        let below = Deletion {
            parent: Some(DeletedParent {
                run_id: RunId::try_from("r".to_owned()).unwrap(),
                head: Digest::of(b"its caller"),
            }),
            ..sealed.clone()
        };
        for (deletion, lines) in [(&sealed, 8), (&open, 8), (&below, 9)] {
            let note: Note = deletion.sign(&key).to_string().parse().unwrap();
            assert_eq!(Deletion::read(&note).as_ref(), Some(deletion));
            assert_eq!(note.text().lines().count(), lines);
        }
        let text = below.text();
        for (from, to) in [
            ("v1", "v2"),
            ("log 0", "log 0 "),
            ("log 0123456789abcdef", "log 0123456789ABCDEF"),
            ("leaf 7", "leaf 07"),
            ("leaf 7", "leaf"),
            ("leaf 7", "leaf -1"),
            ("leaf 7", "leaf 7 "),
            ("=\nrun", "\nrun"),
            ("leaf 7", "leaf none"),
            ("entries 24", "entries 024"),
            ("parent r ", "parent  "),
            ("parent r ", "parent r"),
            ("time 1", "time 01"),
            ("time 1", "time 99999999991"),
            ("é", "\\u00e9"),
            ("\ntime", "\nmore\ntime"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert_eq!(Deletion::read(&key.sign(changed)), None, "{from} → {to}");
        }
    }
}
