//! The signed record of erased blobs. Does not erase anything.

use super::{Note, SecretKey, canonical};
use crate::message::{Digest, MAX_EXACT, RunId};

/// The first line of every tombstone.
const TITLE: &str = "monolith tombstone v1";

/// The longest reason of a tombstone, in bytes.
pub const MAX_REASON_BYTES: usize = 1024;

/// The record of a blob that was erased by design, signed by the operator who erased it.
///
/// It holds nothing of the bytes but the hash, which the entries name anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The run.
    pub run_id: RunId,
    /// BLAKE3 of the bytes that are gone.
    pub blob: Digest,
    /// The reason in the words of the operator who erased the bytes; empty if none was given.
    pub reason: String,
    /// When, in milliseconds since 1970-01-01 UTC, by the clock of the process that erased them.
    pub at_unix_ms: u64,
}

impl Tombstone {
    /// The text that is signed. The reason is the text of a JSON string, so that it stays on its line.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{TITLE}\nrun {}\nblob {}\nreason {}\ntime {}\n",
            self.run_id,
            self.blob,
            canonical::text_of(&self.reason),
            self.at_unix_ms,
        )
    }

    /// Signs it.
    #[must_use]
    pub fn sign(&self, key: &SecretKey) -> Note {
        key.sign(self.text())
    }

    /// Parses the tombstone in a note; none if the text is not exactly that of a tombstone.
    #[must_use]
    pub fn read(note: &Note) -> Option<Self> {
        let mut lines = note.text().strip_prefix(TITLE)?.split('\n').skip(1);
        let mut value = |key: &str| lines.next()?.strip_prefix(key);
        let stone = Self {
            run_id: RunId::try_from(value("run ")?.to_owned()).ok()?,
            blob: value("blob ")?.parse().ok()?,
            reason: serde_json::from_str(value("reason ")?).ok()?,
            at_unix_ms: value("time ")?.parse().ok()?,
        };
        let bounded = stone.at_unix_ms <= MAX_EXACT && stone.reason.len() <= MAX_REASON_BYTES;
        (bounded && stone.text() == note.text()).then_some(stone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_is_read_as_it_was_written_and_no_other_way() {
        let key = SecretKey::from_seed("local", &[1; 32]).unwrap();
        let stone = Tombstone {
            run_id: RunId::try_from("r-1".to_owned()).unwrap(),
            blob: Digest::of(b"secret"),
            reason: "asked for\nby \"them\" \u{1b}[0m é".to_owned(),
            at_unix_ms: 1_790_000_000_000,
        };
        let note = stone.sign(&key);
        let read: Note = note.to_string().parse().unwrap();
        assert_eq!(Tombstone::read(&read), Some(stone.clone()));
        assert_eq!(note.text().lines().count(), 5);
        let refused = |from: &str, to: &str| {
            let text = note.text().replacen(from, to, 1);
            assert_ne!(text, note.text(), "{from}");
            assert_eq!(Tombstone::read(&key.sign(text)), None, "{from} → {to}");
        };
        refused("v1", "v2");
        refused("time 1", "time 01");
        refused("time 1", "time 99999999991");
        refused("é", "\\u00e9");
        refused("blob ", "blob  ");
        refused("reason \"", "reason  \"");
        refused("\ntime", "\nmore\ntime");
        let long = Tombstone {
            reason: "x".repeat(MAX_REASON_BYTES + 1),
            ..stone
        };
        assert_eq!(Tombstone::read(&long.sign(&key)), None);
    }
}
