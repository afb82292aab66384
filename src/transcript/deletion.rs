//! The signed record of a deleted run. Does not delete anything.

use super::{MAX_REASON_BYTES, Note, SecretKey, canonical};
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
    /// Why; empty where nothing was said.
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
