//! A run of the store as a transcript file. The form of its lines is `transcript`'s.

use std::collections::BTreeMap;
use std::io::Write;

use super::{RunReader, StoreError};
use monolith_core::message::Digest;
use monolith_core::transcript::{
    Flaw, Presence, TranscriptKind, WithheldBlobs, blob_line, blob_references, checkpoint_line,
    entry_line, header_line, machine_entry_line, tombstone_line,
};

/// The reason why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An entry is not one that monolith wrote.
    #[error("export entry {seq}: {flaw}")]
    Entry {
        /// The entry.
        seq: u64,
        /// The flaw in it.
        flaw: Flaw,
    },
    /// The destination could not be written.
    #[error("write the export: {0}")]
    Io(#[from] std::io::Error),
}

impl RunReader<'_> {
    /// Writes the run as a transcript file; returns how many blobs behind the token gate were left out.
    ///
    /// Blobs are written as they are stored: the verifier of the file finds what was changed in the store.
    pub fn export(
        mut self,
        out: &mut dyn Write,
        withheld: WithheldBlobs,
    ) -> Result<usize, ExportError> {
        let header = header_line(self.contract_text(), &self.row().run_id);
        out.write_all(header.as_bytes())?;
        let presence = if self.row().kind == TranscriptKind::Run {
            self.export_entries(out)?
        } else {
            // What the entries name is in the runs of the steps. The receipt of a work item is a blob that no entry names.
            while let Some(entry) = self.next_of_machine() {
                out.write_all(machine_entry_line(&entry?).as_bytes())?;
            }
            BTreeMap::new()
        };
        let mut left_out = 0;
        for hash in self.blob_hashes()? {
            if withheld == WithheldBlobs::MayLack
                && presence.get(&hash) == Some(&Presence::Withheld)
            {
                left_out += 1;
            } else if let Some(bytes) = self.blob(hash)? {
                out.write_all(blob_line(hash, &bytes).as_bytes())?;
            }
        }
        for note in self.tombstones()? {
            out.write_all(tombstone_line(&note).as_bytes())?;
        }
        for note in self.checkpoints()? {
            out.write_all(checkpoint_line(&note).as_bytes())?;
        }
        Ok(left_out)
    }

    /// Writes the entries of a run; returns which blobs they name, and how much each is needed.
    fn export_entries(
        &mut self,
        out: &mut dyn Write,
    ) -> Result<BTreeMap<Digest, Presence>, ExportError> {
        let mut presence: BTreeMap<Digest, Presence> = BTreeMap::new();
        for entry in self.by_ref() {
            let entry = entry?;
            out.write_all(entry_line(&entry).as_bytes())?;
            let seq = entry.seq;
            let event = entry
                .decode_event()
                .map_err(|flaw| ExportError::Entry { seq, flaw })?;
            for named in event.iter().flat_map(blob_references) {
                let least = presence.entry(named.hash).or_insert(named.presence);
                *least = named.presence.max(*least);
            }
        }
        Ok(presence)
    }
}
