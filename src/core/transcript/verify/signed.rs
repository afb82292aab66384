//! Checks signatures, pins, witnesses and the log. Does not know where they are stored.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::Verifier;
use super::checks::{Header, no_header};
use super::parent::{Finding, Verdict};
use crate::kernel::EventKind;
use crate::message::{Digest, amount};
use crate::transcript::checkpoint::{CheckpointHead, counted_earlier};
use crate::transcript::note::Signed;
use crate::transcript::{
    Checkpoint, CheckpointRecord, EarlierCheckpoints, EntryRecord, Flaw, FlawKind, Location,
    LogLeaf, Note, Pin, PublicKey, TreeHash, TreeHead, merkle,
};

/// The state kept about signatures, pins and the log so far.
#[derive(Clone, Debug, Default)]
pub(super) struct SignedBook {
    /// The head after each number of entries, `H_0` first.
    pub(super) heads: Vec<Digest>,
    pub(super) checkpoints: u64,
    /// The summary of the checkpoints so far, as the checkpoint of the seal states it.
    pub(super) earlier: EarlierCheckpoints,
    pub(super) last: Option<u64>,
    /// The last entry count signed by known keys, and those keys.
    pub(super) signed_to: Option<(u64, Vec<String>)>,
    /// Number of signatures by unknown keys.
    pub(super) unknown: usize,
    /// Number of pins for this run.
    pub(super) pins: usize,
    /// True if a pin covers every entry.
    pub(super) pinned: bool,
    /// The result of the check of the log, if there is one.
    pub(super) log: Option<String>,
    /// The keys whose signature is the first under a checkpoint.
    pub(super) own: BTreeSet<String>,
    /// Witnesses that vouch for every entry.
    pub(super) witnesses: Vec<String>,
}

/// The evidence of a store's log of runs for one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogEvidence<'a> {
    /// The name of the log; none if the store keeps none.
    pub log: Option<&'a str>,
    /// The number and the stored text of the run's leaf.
    pub leaf: Option<(u64, &'a str)>,
    /// The hashes of all leaves, where a pin asks for them.
    pub leaves: &'a [TreeHash],
}

impl Verifier {
    pub(super) fn checkpoint(&mut self, record: &CheckpointRecord) -> Verdict {
        self.after_entries()?;
        let Some(header) = &self.header else {
            return Err(no_header());
        };
        let refuse = |flaw| Err(Finding::new("checkpoints", flaw));
        let note: Note = match record.note.parse() {
            Ok(note) => note,
            Err(fault) => return refuse(Flaw::tampered("checkpoint", "a signed note", fault)),
        };
        let Some(stated) = CheckpointHead::read(note.text()) else {
            let flaw = Flaw::tampered("checkpoint", "the text of a checkpoint", note.text());
            return refuse(flaw);
        };
        if let Some(column) = record.entries
            && column != stated.entries
        {
            return refuse(Flaw::tampered("entries", stated.entries, column));
        }
        if let Some(last) = self.signed.last
            && last >= stated.entries
        {
            let expected = format!("more than {}", amount(last, "entry"));
            return refuse(Flaw::tampered("checkpoint", expected, stated.entries));
        }
        if stated.entries > self.entries.next_seq && stated.run_id == header.run_id {
            let flaw = Flaw::new(
                FlawKind::Truncated,
                "checkpoint",
                format_args!(
                    "{}, as the checkpoint says",
                    amount(stated.entries, "entry")
                ),
                amount(self.entries.next_seq, "entry"),
            );
            return refuse(flaw);
        }
        let expected = self.expected(header, stated.entries).text();
        if let Some((right, wrong)) = first_difference(&expected, note.text()) {
            let flaw = other_number(right, wrong);
            return refuse(flaw.unwrap_or_else(|| Flaw::tampered("checkpoint", right, wrong)));
        }
        self.signed.earlier.add(note.text());
        self.signed.checkpoints = self.signed.checkpoints.saturating_add(1);
        self.signed.last = Some(stated.entries);
        self.check_signatures(&note, stated.entries)?;
        self.check_witnesses(&note, stated.entries)
    }

    /// Signed records follow the entries, and a header precedes them.
    pub(super) fn after_entries(&mut self) -> Verdict {
        if self.header.is_none() {
            return Err(no_header());
        }
        if !self.entries.ended {
            self.end_entries()?;
        }
        Ok(())
    }

    /// The checkpoint of this chain after so many entries.
    fn expected(&self, header: &Header, entries: u64) -> Checkpoint {
        let head = usize::try_from(entries).ok();
        let head = head.and_then(|at| self.signed.heads.get(at)).copied();
        let at_seal = self.entries.sealed && entries == self.entries.next_seq;
        Checkpoint {
            run_id: header.run_id.clone(),
            entries,
            head: head.unwrap_or(Digest::ZERO),
            contract_hash: header.contract_hash,
            outcome: self.entries.outcome.filter(|_| at_seal),
            earlier: self.signed.earlier,
        }
    }

    fn check_signatures(&mut self, note: &Note, entries: u64) -> Verdict {
        let signers = signers(&self.trust.keys, note, "checkpoint")
            .map_err(|flaw| Finding::new("signature", flaw))?;
        // The first line is the signer's.
        if let Some(signer) = note.signatures().first() {
            let name = format!("{}+{}", signer.name, signer.id);
            self.signed.own.insert(name);
        }
        let known = self.trust.keys.iter().chain(&self.trust.witnesses);
        let known: Vec<_> = known.map(|key| (key.name(), key.id())).collect();
        let signatures = note.signatures().iter();
        let unknown = signatures.filter(|s| !known.contains(&(s.name.as_str(), s.id)));
        let unknown = unknown.count();
        self.signed.unknown = self.signed.unknown.saturating_add(unknown);
        if !signers.is_empty() {
            self.signed.signed_to = Some((entries, signers));
        }
        Ok(())
    }

    /// Takes no key for a witness that signs the run itself: a key cannot be its own witness. Comes last, for pins are judged before the
    /// checkpoints that name their signers.
    pub(super) fn drop_own_witnesses(&mut self) {
        for key in &self.trust.witnesses {
            let name = format!("{}+{}", key.name(), key.id());
            let signs = self.trust.keys.iter().any(|own| own.is_same_key(key))
                || (!key.cosigns() && self.signed.own.contains(&name));
            let vouched = self.signed.witnesses.iter().position(|at| *at == name);
            if let (true, Some(at)) = (signs, vouched) {
                self.signed.witnesses.remove(at);
                self.notes
                    .push(format!("witness: {name} signs the run itself"));
            }
        }
    }

    /// Asks every witness about a note that covers so many entries.
    fn check_witnesses(&mut self, note: &Note, entries: u64) -> Verdict {
        let covers = entries == self.entries.next_seq;
        for key in &self.trust.witnesses {
            let name = format!("{}+{}", key.name(), key.id());
            match note.signed_by(key) {
                Signed::Valid if covers && !self.signed.witnesses.contains(&name) => {
                    if let (Some(begun), Some(seen)) =
                        (self.entries.started_unix_ms, note.cosigned_at(key))
                        && begun / 1000 > seen
                    {
                        self.notes.push(format!(
                            "clock: the run says that it began {} s after {name} had seen its end, so its clock was wrong",
                            begun / 1000 - seen
                        ));
                    }
                    self.signed.witnesses.push(name);
                }
                Signed::Valid | Signed::Absent => {}
                Signed::Forged => {
                    let flaw = Flaw::tampered(
                        "checkpoint",
                        format_args!("a signature by {name}"),
                        "one that does not hold",
                    );
                    return Err(Finding::new("witness", flaw));
                }
            }
        }
        Ok(())
    }

    /// Holds the chain against the heads of this run that were noted earlier.
    pub(super) fn check_pins(&mut self) -> Verdict {
        let Some(run_id) = self.header.as_ref().map(|header| header.run_id.clone()) else {
            return Ok(());
        };
        let trust = std::sync::Arc::clone(&self.trust);
        trust
            .check_pins()
            .map_err(|flaw| Finding::new("pins", flaw))?;
        for pin in &trust.pins {
            let Pin::Run {
                run_id: pinned,
                entries,
                head,
                note,
            } = pin
            else {
                continue;
            };
            if *pinned != run_id {
                continue;
            }
            self.signed.pins = self.signed.pins.saturating_add(1);
            let length = self.entries.next_seq;
            let refuse = |flaw| Err(Finding::new("pins", flaw).seq(length.min(*entries)));
            let at = usize::try_from(*entries).ok();
            match at.and_then(|at| self.signed.heads.get(at)) {
                None => {
                    return refuse(Flaw::new(
                        FlawKind::Rollback,
                        "pin",
                        format_args!("{}, as was noted", amount(*entries, "entry")),
                        amount(length, "entry"),
                    ));
                }
                Some(here) if here != head => {
                    let expected =
                        format!("{head} after {}, as was noted", amount(*entries, "entry"));
                    return refuse(Flaw::tampered("pin", expected, here));
                }
                Some(_) => {}
            }
            self.signed.pinned |= *entries == length;
            if let Some(note) = note {
                self.check_witnesses(note, *entries)?;
            }
        }
        Ok(())
    }

    /// Takes the evidence of the log of runs; comes last. False once a flaw is found.
    pub fn take_log(&mut self, location: Location, evidence: &LogEvidence<'_>) -> bool {
        if self.bad.is_some() {
            return false;
        }
        self.last_location = Some(location);
        let verdict = self.check_log(evidence);
        self.settle(verdict)
    }

    fn check_log(&mut self, evidence: &LogEvidence<'_>) -> Verdict {
        if !self.entries.ended {
            self.end_entries()?;
        }
        // The leaf names the receipt: one that is missing is no flaw of the log.
        self.check_receipt()?;
        let Some(header) = &self.header else {
            return Err(no_header());
        };
        let refuse = |flaw| Err(Finding::new("log", flaw));
        let Some(log) = evidence.log else {
            self.note_not_checked("log: this store keeps no log of runs");
            return self.check_log_pins(evidence);
        };
        let sealed = self.entries.outcome.filter(|_| self.entries.sealed);
        let expected = sealed.map(|outcome| LogLeaf {
            contract_hash: header.contract_hash,
            entries: self.entries.next_seq,
            head: header.chain.head(),
            outcome,
            receipt: self.receipt,
            run_id: header.run_id.clone(),
        });
        let expected = expected.map(|leaf| leaf.text());
        let stored = evidence.leaf.map(|(_, text)| text);
        if stored != expected.as_deref() {
            let text = |leaf: Option<&str>| leaf.unwrap_or("no leaf").to_owned();
            let flaw = Flaw::tampered("leaf", text(expected.as_deref()), text(stored));
            return refuse(flaw);
        }
        self.signed.log = Some(match evidence.leaf {
            Some((index, _)) => format!("leaf {index} of log {log}"),
            None => format!("no leaf in log {log} before the seal"),
        });
        self.check_log_pins(evidence)
    }

    fn check_log_pins(&mut self, evidence: &LogEvidence<'_>) -> Verdict {
        let trust = std::sync::Arc::clone(&self.trust);
        for pin in &trust.pins {
            let Pin::Log { head, note } = pin else {
                continue;
            };
            check_tree(head, evidence.log, evidence.leaves)
                .map_err(|flaw| Finding::new("pins", flaw))?;
            self.signed.pins = self.signed.pins.saturating_add(1);
            if evidence.leaf.is_some_and(|(index, _)| index < head.size) {
                self.signed.pinned = true;
                self.check_witnesses(note, self.entries.next_seq)?;
            }
        }
        Ok(())
    }
}

/// Returns the names of the keys that signed a note.
///
/// # Errors
/// [`Flaw`] where a signature in the name of one of them does not hold.
pub(crate) fn signers(keys: &[PublicKey], note: &Note, field: &str) -> Result<Vec<String>, Flaw> {
    let mut signers = Vec::new();
    for key in keys {
        let name = format!("{}+{}", key.name(), key.id());
        match note.signed_by(key) {
            Signed::Absent => {}
            Signed::Valid => signers.push(name),
            Signed::Forged => {
                let expected = format!("a signature by {name}");
                return Err(Flaw::tampered(field, expected, "one that does not hold"));
            }
        }
    }
    Ok(signers)
}

/// Holds a log of runs against a head of it that was noted earlier.
///
/// # Errors
/// [`Flaw`]: a rollback where leaves are missing, tampering where other leaves replace them or it is another log.
pub fn check_tree(pinned: &TreeHead, log: Option<&str>, leaves: &[TreeHash]) -> Result<(), Flaw> {
    let here = log.map(|log| TreeHead::over(log, &[]).origin);
    if here.as_ref() != Some(&pinned.origin) {
        let here = here.unwrap_or_else(|| "a store without a log".to_owned());
        return Err(Flaw::tampered("pin", &pinned.origin, here));
    }
    let size = usize::try_from(pinned.size).ok();
    let Some(prefix) = size.and_then(|size| leaves.get(..size)) else {
        return Err(Flaw::new(
            FlawKind::Rollback,
            "pin",
            format_args!("{} in the log, as was noted", amount(pinned.size, "run")),
            amount(leaves.len(), "run"),
        ));
    };
    if merkle::tree_root(prefix) == pinned.root {
        return Ok(());
    }
    let expected = format!(
        "the root over {} that was noted",
        amount(pinned.size, "run")
    );
    Err(Flaw::tampered("pin", expected, "another root"))
}

/// The reason if the seal's checkpoint counts other checkpoints than those before it.
fn other_number(right: &str, wrong: &str) -> Option<Flaw> {
    let (here, counted) = (counted_earlier(right)?, counted_earlier(wrong)?);
    let kind = match counted.cmp(&here) {
        Ordering::Greater => FlawKind::Truncated,
        Ordering::Less => FlawKind::Tampered,
        Ordering::Equal => return None,
    };
    Some(Flaw::new(
        kind,
        "checkpoint",
        format_args!("{counted} earlier checkpoints, as that of the seal counts"),
        format_args!("{here} earlier checkpoints"),
    ))
}

/// The first line in which the texts differ, of both.
fn first_difference<'a>(right: &'a str, wrong: &'a str) -> Option<(&'a str, &'a str)> {
    if right == wrong {
        return None;
    }
    let mut wrongs = wrong.split('\n');
    for line in right.split('\n') {
        match wrongs.next() {
            Some(other) if other == line => {}
            other => {
                let other = other.filter(|other| !other.is_empty());
                return Some((line, other.unwrap_or("nothing")));
            }
        }
    }
    Some(("nothing more", wrongs.next().unwrap_or("nothing")))
}

/// The signed answers of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerBook {
    /// The hash of the first entry, which every signature binds.
    first: Option<Digest>,
    /// Who signed how many, by the name of the key.
    signed: BTreeMap<String, usize>,
}

impl AnswerBook {
    /// Takes the next entry, whose hash was checked.
    pub(super) fn take(&mut self, entry: &EntryRecord<'_>) -> Result<(), Flaw> {
        let first = *self.first.get_or_insert(entry.hash);
        let event = entry.decoded_event.as_ref().map(|event| &event.event);
        let (answer, approved) = match event {
            Some(EventKind::ApprovalGiven(answer)) => (answer, true),
            Some(EventKind::ApprovalDenied(answer)) => (answer, false),
            _ => return Ok(()),
        };
        let Some(answerer) = &answer.answerer else {
            return Ok(());
        };
        answer.check_signature(first, approved).map_err(|fault| {
            let expected = format!("an answer that {} has signed", answerer.key);
            Flaw::tampered("event.answerer", expected, fault)
        })?;
        let signed = self.signed.entry(answerer.key.clone()).or_default();
        *signed = signed.saturating_add(1);
        Ok(())
    }

    /// Who signed how many; `None` if no answer is signed.
    pub(super) fn describe(&self) -> Option<String> {
        let signed = self.signed.iter();
        let signed = signed.map(|(key, count)| format!("{count} signed by {key}"));
        let signed: Vec<String> = signed.collect();
        (!signed.is_empty()).then(|| signed.join(", "))
    }
}
