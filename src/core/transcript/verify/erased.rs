//! Checks tombstones against the blobs that are missing. Does not know how blobs are stored.

use super::Verifier;
use super::checks::no_header;
use super::parent::{Finding, Verdict};
use super::signed::signers;
use crate::message::Digest;
use crate::transcript::{Flaw, FlawKind, Note, Tombstone, TombstoneRecord};

/// The state kept about tombstones so far.
#[derive(Clone, Debug, Default)]
pub(super) struct ErasedBook {
    /// Number of tombstones.
    pub(super) count: u64,
    pub(super) last: Option<Digest>,
    /// The known keys that signed them.
    pub(super) signers: Vec<String>,
    /// Tombstones without a known signer.
    pub(super) by_unknown: usize,
}

impl Verifier {
    pub(super) fn tombstone(&mut self, record: &TombstoneRecord) -> Verdict {
        self.after_entries()?;
        let Some(header) = &self.header else {
            return Err(no_header());
        };
        let refuse = |flaw| Err(Finding::new("erased", flaw));
        if self.signed.checkpoints > 0 {
            let expected = "no tombstone after the first checkpoint";
            let flaw = Flaw::new(FlawKind::Extended, "tombstone", expected, "one");
            return refuse(flaw);
        }
        let note: Note = match record.note.parse() {
            Ok(note) => note,
            Err(fault) => return refuse(Flaw::tampered("tombstone", "a signed note", fault)),
        };
        let Some(stone) = Tombstone::read(&note) else {
            let flaw = Flaw::tampered("tombstone", "the text of a tombstone", note.text());
            return refuse(flaw);
        };
        if let Some(column) = record.hash
            && column != stone.blob
        {
            return refuse(Flaw::tampered("hash", stone.blob, column));
        }
        if stone.run_id != header.run_id {
            return refuse(Flaw::tampered("tombstone", &header.run_id, &stone.run_id));
        }
        if let Some(last) = self.erased.last
            && last >= stone.blob
        {
            let expected = format!("a hash above {last}");
            return refuse(Flaw::tampered("tombstone", expected, stone.blob));
        }
        let Some(referenced) = self.blobs.referenced.get_mut(&stone.blob) else {
            let expected = "the hash of a blob that an entry names";
            let flaw = Flaw::new(FlawKind::Extended, "tombstone", expected, stone.blob);
            return refuse(flaw);
        };
        if referenced.seen {
            let expected = format!("no bytes of {}, which was erased", stone.blob);
            return refuse(Flaw::tampered("tombstone", expected, "the blob"));
        }
        let signers = match signers(&self.trust.keys, &note, "tombstone") {
            Ok(signers) => signers,
            Err(flaw) => return refuse(flaw),
        };
        if signers.is_empty() && self.trust.signature_required {
            let expected = "a tombstone that a given key has signed";
            let actual = "a signature by others";
            return refuse(Flaw::new(FlawKind::Unsigned, "tombstone", expected, actual));
        }
        referenced.erased = true;
        let book = &mut self.erased;
        book.count = book.count.saturating_add(1);
        book.last = Some(stone.blob);
        book.by_unknown = book
            .by_unknown
            .saturating_add(usize::from(signers.is_empty()));
        for signer in signers {
            if !book.signers.contains(&signer) {
                book.signers.push(signer);
            }
        }
        Ok(())
    }
}

impl ErasedBook {
    /// The detail of the check.
    pub(super) fn describe(&self) -> String {
        let blobs = if self.count == 1 { "blob" } else { "blobs" };
        let signers = if self.signers.is_empty() {
            "no key that is known here".to_owned()
        } else {
            self.signers.join(", ")
        };
        format!(
            "{} {blobs} erased by design, signed by {signers}",
            self.count
        )
    }

    /// Describes the tombstones without a known signer.
    pub(super) fn lacking(&self) -> Option<String> {
        let count = self.by_unknown;
        (count > 0).then(|| {
            format!(
                "tombstones: {count} are signed by keys that are not known here, so anyone who can write this can have removed those blobs"
            )
        })
    }
}
