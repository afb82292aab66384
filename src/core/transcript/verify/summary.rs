//! Turns what a verification found into its report. Checks nothing itself.

use super::Verifier;
use crate::message::amount;
use crate::transcript::{Pin, Presence, VerifyCheck, VerifyReport};

/// The note of every verification that does not derive the decisions again: such a transcript holds, but need not be a run that
/// took place.
pub const NOT_DECIDED: &str = "replay: the decisions of the machine were not derived again";

impl Verifier {
    /// Sums up: a check passed, failed, or was not judged to its end.
    pub(super) fn report(self) -> VerifyReport {
        let bad = self.bad.as_ref();
        let failed = bad.map(|(check, _)| *check);
        let mut checks = Vec::new();
        let mut not_checked = Vec::new();
        let all_ended = failed.is_none();
        let mut add_check = |name: &'static str, passed: bool, detail: String| {
            if failed == Some(name) {
                let detail = bad.map_or(detail, |(_, bad)| {
                    format!(
                        "{}: expected {}, got {}",
                        bad.field, bad.expected, bad.actual
                    )
                });
                let ok = false;
                checks.push(VerifyCheck { name, ok, detail });
            } else if passed {
                let ok = true;
                checks.push(VerifyCheck { name, ok, detail });
            } else {
                not_checked.push(format!(
                    "{name}: not judged to its end, because of the flaw found before"
                ));
            }
        };
        let book = &self.entries;
        let header = self.header.as_ref();
        let contract_hash = header.map(|h| h.contract_hash.to_string());
        let run_id = header.map(|h| h.run_id.to_string());
        // A header can be refused a second time; it passed only where nothing failed in it.
        add_check("header", header.is_some(), run_id.unwrap_or_default());
        add_check(
            "contract",
            header.is_some(),
            contract_hash.unwrap_or_default(),
        );
        let entries = format!("{}, numbered without a gap", amount(book.next_seq, "entry"));
        add_check("entries", book.ended, entries);
        let head = header.map(|h| h.chain.head());
        let head_text = head.map_or_else(String::new, |head| format!("head {head}"));
        add_check("chain", book.ended, head_text);
        let outcome = book.outcome.map(|o| o.to_string()).unwrap_or_default();
        if book.sealed || !self.options.open {
            add_check("seal", all_ended || (book.sealed && book.ended), outcome);
        }
        let parent = self.parent.describe();
        let lacks_parent = match parent {
            Some(Ok(detail)) => {
                add_check("parent", book.ended || all_ended, detail);
                None
            }
            Some(Err(why)) => Some(format!("parent: {why}")),
            None => None,
        };
        let answers = self.answers.describe();
        if answers.is_some() || failed == Some("answers") {
            add_check(
                "answers",
                book.ended || all_ended,
                answers.unwrap_or_default(),
            );
        }
        let blobs = format!("each re-hashed: {}", self.blobs.present);
        add_check("blobs", all_ended, blobs);
        if self.erased.count > 0 || failed == Some("erased") {
            add_check("erased", all_ended, self.erased.describe());
        }
        if header.is_some_and(|h| h.claims.is_some()) {
            let detail = "the row of the run agrees with its chain".to_owned();
            add_check("index", all_ended, detail);
        }
        if failed == Some("schema") {
            add_check("schema", false, String::new());
        }
        let signed = &self.signed;
        if signed.checkpoints > 0 || failed == Some("checkpoints") {
            let detail = format!("agreeing with the chain: {}", signed.checkpoints);
            add_check("checkpoints", all_ended, detail);
        }
        let signed_to = signed.signed_to.as_ref();
        if signed_to.is_some() || failed == Some("signature") {
            let detail = signed_to.map(|(to, keys)| {
                format!(
                    "{to} of {} signed by {}",
                    amount(book.next_seq, "entry"),
                    keys.join(", ")
                )
            });
            add_check("signature", all_ended, detail.unwrap_or_default());
        }
        if signed.pins > 0 || failed == Some("pins") {
            let whole = if signed.pinned {
                ""
            } else {
                ", none of every entry"
            };
            let detail = format!("heads noted earlier: {}{whole}", signed.pins);
            add_check("pins", all_ended, detail);
        }
        if signed.log.is_some() || failed == Some("log") {
            add_check("log", all_ended, signed.log.clone().unwrap_or_default());
        }
        if !signed.witnesses.is_empty() || failed == Some("witness") {
            let detail = format!("signed by {}", signed.witnesses.join(", "));
            add_check("witness", all_ended, detail);
        }
        for (presence, name, why) in [
            (Presence::Withheld, "withheld", "behind the token gate"),
            (Presence::Derivable, "requests", "of request bodies"),
        ] {
            let referenced = self.blobs.referenced.values();
            let lacking = referenced.filter(|w| w.presence == presence && !w.seen && !w.erased);
            let lacking = lacking.count();
            if all_ended && lacking > 0 {
                let (blobs, are) = if lacking == 1 {
                    ("blob", "is")
                } else {
                    ("blobs", "are")
                };
                let mut note = format!("{name}: {lacking} {blobs} {why} {are} not here");
                if presence == Presence::Withheld && header.is_some_and(|h| h.claims.is_some()) {
                    note.push_str("; runs.owner, which no hash covers, says that the run was imported, so they may have been left out of its file, or removed");
                }
                not_checked.push(note);
            }
        }
        if book.redacted > 0 {
            not_checked.push(format!(
                "redacted: a secret was taken out of answers, so their bytes were not kept as received, only what they were decoded to: {}",
                book.redacted
            ));
        }
        not_checked.extend(lacks_parent);
        if all_ended && !book.sealed {
            not_checked.push("seal: the run is in progress".to_owned());
        }
        if all_ended {
            not_checked.extend(self.erased.lacking());
            not_checked.extend(self.unsigned());
        }
        let level = match (all_ended, self.seal_is_signed(), signed.pinned) {
            (false, _, _) => "none",
            _ if !signed.witnesses.is_empty() => "L3",
            (_, _, true) => "L2",
            (_, true, false) => "L1",
            (_, false, false) => "L0",
        };
        not_checked.extend(self.notes);
        not_checked.push(NOT_DECIDED.to_owned());
        VerifyReport {
            level,
            checks,
            not_checked,
            first_bad: self.bad.map(|(_, bad)| bad),
            entries: book.next_seq,
            head,
        }
    }
    /// The things that no signature, pin or witness covers.
    fn unsigned(&self) -> Vec<String> {
        let signed = &self.signed;
        let mut lacking = Vec::new();
        if self.seal_is_signed() {
            // The caller who names the key has it from elsewhere.
            let named = self.trust.signature_required;
            lacking.extend((!named).then(|| {
                "signer: who holds the key is not known; a key on the same disk proves nothing against its owner"
                    .to_owned()
            }));
        } else {
            let why = match (signed.checkpoints, &signed.signed_to, self.entries.sealed) {
                (0, _, _) => "no signed checkpoint",
                (_, None, _) => "no checkpoint is signed by a known key",
                (_, Some(_), true) => "the seal is not signed by a known key",
                (_, Some(_), false) => "entries after the last checkpoint are not signed",
            };
            lacking.push(format!(
                "signature: {why}; anyone with write access can rewrite all of it"
            ));
        }
        if signed.unknown > 0 {
            lacking.push(format!(
                "unknown signatures: {} are by keys that are not known here",
                signed.unknown
            ));
        }
        if signed.pins == 0 {
            lacking.push("pinned heads: no earlier head was given to compare with".to_owned());
        } else if !signed.pinned {
            lacking.push("pinned heads: entries after the last one that was noted".to_owned());
        }
        let of_logs = self.trust.pins.iter();
        let of_logs = of_logs.filter(|pin| matches!(pin, Pin::Log { .. })).count();
        if of_logs > 0 && signed.log.is_none() {
            lacking.push(format!(
                "pinned logs: {of_logs} heads are of a log of runs, which a file does not hold"
            ));
        }
        if signed.witnesses.is_empty() {
            lacking.push("witness: no other key vouches for the head".to_owned());
        }
        lacking
    }
}
