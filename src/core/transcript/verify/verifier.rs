//! The verifier: takes records in order and stops at the first flaw. Does not read files or stores.

use std::sync::Arc;

use super::checks::{
    BlobBook, EntryBook, Header, ReferencedBlob, check_action, check_claims, check_hash,
    check_precheck, check_seal, check_start, no_header,
};
use super::erased::ErasedBook;
use super::parent::{Finding, ParentBook, Verdict};
use super::signed::{AnswerBook, SignedBook};
use crate::kernel::{EntryKind, State};
use crate::message::Digest;
use crate::transcript::{
    BlobRecord, Chain, EntryRecord, FirstBad, Flaw, FlawKind, HeaderRecord, Location, Presence,
    Record, SealedOutcome, TranscriptKind, Trust, VerifyReport, blob_references, is_redacted,
};

/// The options of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// True if a run in progress, which has no seal yet, is accepted.
    pub open: bool,
    /// The rule for blobs that hold withheld text.
    pub withheld: WithheldBlobs,
}

/// The presence required of blobs that hold text behind the token gate (002 Invariant F).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithheldBlobs {
    /// They may have been left out of an export; the report counts those that are.
    #[default]
    MayLack,
    /// They must be there, as in a store.
    Needed,
}

/// By how much two honest clocks may differ.
const CLOCK_SKEW_MS: u64 = 60_000;

/// Verifies a stored run record by record: recomputes every hash from the stored bytes.
///
/// Holds the hashes of the blobs that are named and the heads of the chain, and nothing else of what it has seen. It stops at the first
/// flaw, because nothing after it can be checked.
#[derive(Clone, Debug)]
pub struct Verifier {
    pub(super) bad: Option<(&'static str, FirstBad)>,
    pub(super) blobs: BlobBook,
    pub(super) entries: EntryBook,
    pub(super) erased: ErasedBook,
    pub(super) header: Option<Header>,
    pub(super) last_location: Option<Location>,
    /// The state after the last entry of a workflow or of a work item.
    pub(super) machine_state: Option<String>,
    pub(super) notes: Vec<String>,
    pub(super) options: VerifyOptions,
    pub(super) answers: AnswerBook,
    pub(super) parent: ParentBook,
    /// The receipt of a work item.
    pub(super) receipt: Option<Digest>,
    pub(super) signed: SignedBook,
    pub(super) trust: Arc<Trust>,
}

impl Verifier {
    /// A verifier before the first record.
    #[must_use]
    pub fn new(options: VerifyOptions) -> Self {
        Self {
            bad: None,
            blobs: BlobBook::default(),
            entries: EntryBook::default(),
            erased: ErasedBook::default(),
            header: None,
            last_location: None,
            machine_state: None,
            notes: Vec::new(),
            options,
            answers: AnswerBook::default(),
            parent: ParentBook::default(),
            receipt: None,
            signed: SignedBook::default(),
            trust: Arc::default(),
        }
    }

    /// Holds the transcript against keys, heads and witnesses from outside it.
    #[must_use]
    pub fn trusting(self, trust: Arc<Trust>) -> Self {
        Self { trust, ..self }
    }

    /// Takes the next record, or what kept it from being read. False once a flaw is found: more need not be shown.
    pub fn take(&mut self, location: Location, record: Result<Record<'_>, Flaw>) -> bool {
        if self.bad.is_some() {
            return false;
        }
        self.last_location = Some(location);
        let verdict = match record {
            Ok(Record::Header(header)) => self.header(location, *header),
            Ok(Record::Entry(entry)) if self.kind() == TranscriptKind::Run => {
                self.entry(location, &entry)
            }
            Ok(Record::MachineEntry(entry)) if self.kind() != TranscriptKind::Run => {
                self.machine_entry(location, &entry)
            }
            Ok(Record::Entry(_) | Record::MachineEntry(_)) => Err(no_header()),
            Ok(Record::Blob(blob)) => self.blob(blob),
            Ok(Record::Tombstone(tombstone)) => self.tombstone(&tombstone),
            Ok(Record::Checkpoint(checkpoint)) => self.checkpoint(&checkpoint),
            Err(flaw) => Err(self.unreadable(flaw)),
        };
        self.settle(verdict)
    }

    /// Takes a flaw that the caller found in what surrounds the records.
    pub fn take_flaw(&mut self, check: &'static str, location: Location, flaw: Flaw) {
        if self.bad.is_none() {
            self.settle(Err(Finding::new(check, flaw).at(location)));
        }
    }

    /// Names something that the caller knows to be outside the evidence.
    pub fn note_not_checked(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }

    /// Judges what can be judged only at the end, and reports.
    #[must_use]
    pub fn finish(mut self) -> VerifyReport {
        if self.bad.is_none() {
            let verdict = self.end();
            self.settle(verdict);
        }
        self.drop_own_witnesses();
        self.report()
    }

    pub(super) fn settle(&mut self, verdict: Verdict) -> bool {
        let Err(finding) = verdict else { return true };
        let location = finding.location.or(self.last_location);
        let Flaw {
            kind,
            field,
            expected,
            actual,
        } = finding.flaw;
        let bad = FirstBad {
            seq: finding.seq,
            line: match location {
                Some(Location::Line(line)) => Some(line),
                Some(Location::Table(_)) | None => None,
            },
            table: match location {
                Some(Location::Table(table)) => Some(table),
                Some(Location::Line(_)) | None => None,
            },
            field,
            expected,
            actual,
            kind,
        };
        self.bad = Some((finding.check, bad));
        false
    }

    /// Builds the finding for a record that cannot be read.
    fn unreadable(&self, flaw: Flaw) -> Box<Finding> {
        if self.header.is_none() {
            Finding::new("header", flaw)
        } else if self.signed.checkpoints > 0 || flaw.field == "checkpoint" {
            Finding::new("checkpoints", flaw)
        } else if self.erased.count > 0 || flaw.field == "tombstone" {
            Finding::new("erased", flaw)
        } else if self.entries.ended || self.entries.sealed {
            Finding::new("blobs", flaw)
        } else {
            Finding::new("entries", flaw).seq(self.entries.next_seq)
        }
    }

    fn header(&mut self, location: Location, header: HeaderRecord<'_>) -> Verdict {
        if self.header.is_some() {
            let flaw = Flaw::new(FlawKind::Extended, "contract", "one header", "a second one");
            return Err(Finding::new("header", flaw));
        }
        let (contract_hash, faulty) = header
            .check_document()
            .map_err(|flaw| Finding::new("contract", flaw))?;
        if let Some(claims) = &header.claims
            && claims.contract_hash != contract_hash
        {
            let flaw = Flaw::tampered("contract_hash", contract_hash, claims.contract_hash);
            return Err(Finding::new("contract", flaw));
        }
        let kind = header.kind();
        if let Some(claims) = &header.claims
            && claims.kind != kind
        {
            let flaw = Flaw::tampered("kind", kind.as_str(), claims.kind.as_str());
            return Err(Finding::new("contract", flaw));
        }
        let chain = Chain::genesis(contract_hash, &header.run_id);
        self.signed.heads.push(chain.head());
        self.header = Some(Header {
            chain,
            claims: header.claims,
            contract_hash,
            faulty,
            kind,
            location,
            run_id: header.run_id,
        });
        Ok(())
    }

    fn entry(&mut self, location: Location, entry: &EntryRecord<'_>) -> Verdict {
        let Some(header) = &mut self.header else {
            return Err(no_header());
        };
        let book = &mut self.entries;
        let action = &entry.decoded_action;
        let at = book.next_seq;
        let refuse = |check, flaw| Err(Finding::new(check, flaw).seq(at));
        if book.sealed || book.ended {
            let expected = if book.sealed {
                "no entry after the seal"
            } else {
                "no entry after the first blob"
            };
            let flaw = Flaw::new(FlawKind::Extended, "seq", expected, entry.seq);
            return refuse("seal", flaw);
        }
        if entry.seq != at {
            return refuse("entries", Flaw::tampered("seq", at, entry.seq));
        }
        if let Some(state) = entry.state
            && state != action.to.as_str()
        {
            return refuse("entries", Flaw::tampered("state", action.to, state));
        }
        check_hash(header, entry)?;
        check_action(book, entry).or_else(|flaw| refuse("entries", flaw))?;
        check_precheck(header, entry).or_else(|flaw| refuse("contract", flaw))?;
        if at == 0 {
            let begun =
                check_start(header, entry).map_err(|flaw| Finding::new("entries", flaw).seq(at))?;
            book.started_unix_ms = Some(begun);
            if let Some(now) = self.trust.now_unix_ms
                && begun > now.saturating_add(CLOCK_SKEW_MS)
            {
                self.notes.push(format!(
                    "clock: the run says that it began {} s from now, so its clock or this one is wrong",
                    (begun - now) / 1000
                ));
            }
            self.parent.note(entry);
        }
        self.answers
            .take(entry)
            .or_else(|flaw| refuse("answers", flaw))?;
        if action.kind == EntryKind::Seal {
            check_seal(book, entry).or_else(|flaw| refuse("seal", flaw))?;
            book.sealed = true;
        }
        self.signed.heads.push(entry.hash);
        book.outcome = action.outcome.map(SealedOutcome::from);
        book.last_state = Some(action.to);
        book.last_step = action.step_id;
        book.next_seq = at.saturating_add(1);
        book.location = Some(location);
        let redacted = entry.decoded_event.as_ref().is_some_and(is_redacted);
        book.redacted = book.redacted.saturating_add(usize::from(redacted));
        for named in entry.decoded_event.iter().flat_map(blob_references) {
            let referenced = ReferencedBlob {
                erased: false,
                field: named.field,
                location,
                presence: named.presence,
                seen: false,
                seq: at,
            };
            let known = self
                .blobs
                .referenced
                .entry(named.hash)
                .or_insert(referenced);
            if known.presence < referenced.presence {
                *known = referenced;
            }
        }
        Ok(())
    }

    fn blob(&mut self, blob: BlobRecord<'_>) -> Verdict {
        if self.header.is_none() {
            return Err(no_header());
        }
        if !self.entries.ended {
            self.end_entries()?;
        }
        let refuse = |flaw| Err(Finding::new("blobs", flaw));
        if self.signed.checkpoints > 0 {
            let expected = "no blob after the first checkpoint";
            return refuse(Flaw::new(FlawKind::Extended, "blob", expected, blob.hash));
        }
        if self.erased.count > 0 {
            let expected = "no blob after the first tombstone";
            return refuse(Flaw::new(FlawKind::Extended, "blob", expected, blob.hash));
        }
        let computed = Digest::of(blob.bytes);
        if computed != blob.hash {
            return refuse(Flaw::tampered("bytes", blob.hash, computed));
        }
        if let Some(last) = self.blobs.last
            && last >= blob.hash
        {
            let expected = format!("a hash above {last}");
            return refuse(Flaw::tampered("blob", expected, blob.hash));
        }
        if let Some(referenced) = self.blobs.referenced.get_mut(&blob.hash) {
            referenced.seen = true;
        } else if self.kind() == TranscriptKind::Work {
            self.receipt(&blob)?;
        } else {
            let expected = "a blob that an entry names";
            let flaw = Flaw::new(FlawKind::Extended, "blob", expected, blob.hash);
            return refuse(flaw);
        }
        self.blobs.last = Some(blob.hash);
        self.blobs.present = self.blobs.present.saturating_add(1);
        Ok(())
    }

    /// Judges what the entries amount to, once the last has been seen.
    pub(super) fn end_entries(&mut self) -> Verdict {
        self.check_pins()?;
        let Some(header) = &self.header else {
            return Err(no_header());
        };
        let book = &mut self.entries;
        book.ended = true;
        let next = book.next_seq;
        let location = book.location.unwrap_or(header.location);
        if let Some(claims) = &header.claims {
            check_claims(header, claims, book)?;
        }
        if book.sealed || (self.options.open && book.last_state != Some(State::Terminate)) {
            return Ok(());
        }
        let (kind, actual) = if book.last_state == Some(State::Terminate) {
            // A run's last step is one batch: TERMINATE without its seal was never written.
            (FlawKind::Truncated, "an end without its seal")
        } else {
            (FlawKind::Incomplete, "no seal")
        };
        let flaw = Flaw::new(kind, "seq", "a seal as the last entry", actual);
        Err(Finding::new("seal", flaw).at(location).seq(next))
    }

    fn end(&mut self) -> Verdict {
        if self.header.is_none() {
            let flaw = Flaw::new(FlawKind::Truncated, "contract", "a header", "nothing");
            return Err(Finding::new("header", flaw));
        }
        if !self.entries.ended {
            self.end_entries()?;
        }
        let least = match self.options.withheld {
            WithheldBlobs::MayLack => Presence::Needed,
            WithheldBlobs::Needed => Presence::Withheld,
        };
        let lacking = |w: &ReferencedBlob| !w.seen && !w.erased && w.presence >= least;
        let referenced = self.blobs.referenced.iter();
        let first = referenced
            .filter(|(_, w)| lacking(w))
            .min_by_key(|(_, w)| w.seq);
        if let Some((hash, referenced)) = first {
            let flaw = Flaw::new(
                FlawKind::MissingBlob,
                referenced.field,
                hash,
                "no such blob",
            );
            return Err(Finding::new("blobs", flaw)
                .at(referenced.location)
                .seq(referenced.seq));
        }
        self.check_receipt()?;
        if self.trust.signature_required && self.entries.sealed && !self.seal_is_signed() {
            let keys = self.trust.keys.iter();
            let keys: Vec<_> = keys.map(|k| format!("{}+{}", k.name(), k.id())).collect();
            let expected = format!("the seal signed by {}", keys.join(" or "));
            let flaw = Flaw::new(
                FlawKind::Unsigned,
                "checkpoint",
                expected,
                "no such signature",
            );
            return Err(Finding::new("signature", flaw));
        }
        Ok(())
    }

    /// The machine that the transcript is of; that of runs before the header.
    #[must_use]
    pub fn kind(&self) -> TranscriptKind {
        let kind = self.header.as_ref().map(|header| header.kind);
        kind.unwrap_or_default()
    }

    /// Returns true if a known key has signed the checkpoint of the seal.
    pub(super) fn seal_is_signed(&self) -> bool {
        let signed_to = self.signed.signed_to.as_ref();
        self.entries.sealed && signed_to.is_some_and(|(to, _)| *to == self.entries.next_seq)
    }
}
