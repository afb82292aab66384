//! Checks the entries of a workflow or of a work item: the same chain, numbers and seal as those of a run,
//! and the receipt of an item. Does not know what a machine decides.

use serde::Deserialize;
use serde_json::Value;

use super::Verifier;
use super::checks::{ReferencedBlob, no_header};
use super::parent::{Finding, Verdict};
use crate::contract::RECEIPT_FORMAT;
use crate::kernel::State;
use crate::message::Digest;
use crate::transcript::machine_entry::{ItemDocument, StatedEnd};
use crate::transcript::{
    BlobRecord, Flaw, FlawKind, Link, Location, MachineEntryRecord, Presence, SealedOutcome,
    TranscriptKind, canonical,
};

/// The state in which every workflow begins, and that in which it has ended.
const FIRST: &str = "RUNNING";
const LAST: &str = "TERMINATE";

/// The parts of a receipt that bind it to the transcript of its item.
#[derive(Deserialize)]
struct ReceiptHead {
    contract_hash: Digest,
    end: StatedEnd,
    format: String,
    item: Value,
    work_head: Digest,
    work_id: String,
}

impl Verifier {
    pub(super) fn machine_entry(
        &mut self,
        location: Location,
        entry: &MachineEntryRecord<'_>,
    ) -> Verdict {
        let Some(header) = &mut self.header else {
            return Err(no_header());
        };
        let is_item = header.kind == TranscriptKind::Work;
        let book = &mut self.entries;
        let at = book.next_seq;
        let refuse = |check, flaw| Err(Finding::new(check, flaw).seq(at));
        if book.sealed || book.ended {
            let expected = "no entry after the seal";
            let flaw = Flaw::new(FlawKind::Extended, "seq", expected, entry.seq);
            return refuse("seal", flaw);
        }
        let head = &entry.head;
        if entry.seq != at || head.seq != at {
            let got = if entry.seq == at { head.seq } else { entry.seq };
            return refuse("entries", Flaw::tampered("seq", at, got));
        }
        if let Some(state) = entry.state
            && state != head.to
        {
            return refuse("entries", Flaw::tampered("state", &head.to, state));
        }
        let computed = header
            .chain
            .extend(&Link::of_machine(&head.to, entry.event, entry.action));
        if computed != entry.hash {
            return refuse("chain", Flaw::tampered("hash", computed, entry.hash));
        }
        if head.machine() != header.kind {
            let expected = format!("a state of a {}", header.kind);
            return refuse("entries", Flaw::tampered("action.to", expected, &head.to));
        }
        let before = match &self.machine_state {
            Some(state) => state.as_str(),
            // Its dependencies decide in which state an item begins.
            None if is_item => head.to.as_str(),
            None => FIRST,
        };
        if head.from != before {
            return refuse("entries", Flaw::tampered("action.from", before, &head.from));
        }
        let seals = head.kind == "seal";
        // A workflow decides its end one entry before its seal; the end of an item is its seal.
        let is_last = if is_item {
            head.is_end()
        } else {
            before == LAST
        };
        if (head.kind == "start") != (at == 0) || seals != is_last {
            let expected = "the start first, the seal last, and neither elsewhere";
            return refuse(
                "entries",
                Flaw::tampered("action.kind", expected, &head.kind),
            );
        }
        if at == 0 {
            let binding = entry.binding.as_ref();
            let Some(binding) = binding.filter(|binding| binding.kind == header.kind) else {
                return refuse("entries", Flaw::tampered("event", "started", entry.event));
            };
            let (name, document) = if is_item {
                ("event.work_id", "event.item")
            } else {
                ("event.run_id", "event.definition_hash")
            };
            if binding.run_id != header.run_id.as_str() {
                let flaw = Flaw::tampered(name, &header.run_id, &binding.run_id);
                return refuse("entries", flaw);
            }
            if binding.document_hash != header.contract_hash {
                let stated = binding.document_hash;
                let flaw = Flaw::tampered(document, header.contract_hash, stated);
                return refuse("entries", flaw);
            }
            book.started_unix_ms = Some(binding.started_unix_ms);
        }
        let outcome = head.outcome();
        if seals {
            let length = at.saturating_add(1);
            let is_decided = if is_item {
                matches!(outcome, Some(SealedOutcome::Work(end)) if end.class.as_str() == head.to)
            } else {
                outcome.is_some() && outcome == book.outcome
            };
            if head.length != Some(length) || !is_decided {
                let expected = format!("{length} entries and the outcome that was decided");
                return refuse(
                    "seal",
                    Flaw::tampered("action.length", expected, entry.action),
                );
            }
            book.sealed = true;
        }
        // What the entries of a workflow name is in the runs of its steps.
        if let Some(hash) = entry.blob.filter(|_| is_item) {
            let referenced = ReferencedBlob {
                erased: false,
                field: "event.output_blob",
                location,
                presence: Presence::Needed,
                seen: false,
                seq: at,
            };
            self.blobs.referenced.entry(hash).or_insert(referenced);
        }
        self.signed.heads.push(entry.hash);
        book.outcome = outcome;
        book.last_state = (head.to == LAST).then_some(State::Terminate);
        book.next_seq = at.saturating_add(1);
        book.location = Some(location);
        self.machine_state = Some(head.to.clone());
        Ok(())
    }

    /// Takes the one blob of a work item that no entry names: its receipt, because the receipt names the last
    /// entry.
    pub(super) fn receipt(&mut self, blob: &BlobRecord<'_>) -> Verdict {
        let refuse = |flaw| Err(Finding::new("blobs", flaw));
        let Some(header) = &self.header else {
            return Err(no_header());
        };
        let ended = self.entries.outcome.filter(|_| self.entries.sealed);
        let Some(SealedOutcome::Work(outcome)) = ended.filter(|_| self.receipt.is_none()) else {
            let expected = "one receipt, of an item that has ended";
            let flaw = Flaw::new(FlawKind::Extended, "blob", expected, blob.hash);
            return refuse(flaw);
        };
        let read = || {
            let no_receipt =
                |fault: String| Flaw::tampered("bytes", "the receipt of the item", fault);
            let value: Value = serde_json::from_slice(blob.bytes)
                .map_err(|fault| no_receipt(fault.to_string()))?;
            let dump = serde_json_canonicalizer::to_string(&value).unwrap_or_default();
            canonical::same("receipt", &dump, &String::from_utf8_lossy(blob.bytes))?;
            ReceiptHead::deserialize(value).map_err(|fault| no_receipt(fault.to_string()))
        };
        let receipt = match read() {
            Ok(receipt) => receipt,
            Err(flaw) => return refuse(flaw),
        };
        if receipt.format != RECEIPT_FORMAT {
            let kind = FlawKind::UnknownVersion;
            let flaw = Flaw::new(kind, "receipt.format", RECEIPT_FORMAT, receipt.format);
            return refuse(flaw);
        }
        let document = ItemDocument::new(receipt.contract_hash, receipt.item).hash();
        let (head, status) = (header.chain.head(), outcome.class.as_str());
        let pairs = [
            (
                "receipt.work_id",
                header.run_id.to_string(),
                receipt.work_id,
            ),
            (
                "receipt.work_head",
                head.to_string(),
                receipt.work_head.to_string(),
            ),
            (
                "receipt.item",
                header.contract_hash.to_string(),
                document.to_string(),
            ),
            (
                "receipt.end",
                status.to_owned(),
                receipt.end.status.as_str().to_owned(),
            ),
        ];
        for (field, expected, got) in pairs {
            if expected != got {
                return refuse(Flaw::tampered(field, expected, got));
            }
        }
        self.receipt = Some(blob.hash);
        Ok(())
    }

    /// Refuses an item that has ended and lacks its receipt.
    pub(super) fn check_receipt(&self) -> Verdict {
        let is_item = self.kind() == TranscriptKind::Work;
        if is_item && self.entries.sealed && self.receipt.is_none() {
            let expected = "the receipt of the item";
            let flaw = Flaw::new(FlawKind::MissingBlob, "blob", expected, "no such blob");
            return Err(Finding::new("blobs", flaw));
        }
        Ok(())
    }
}
