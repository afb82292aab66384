use super::Verifier;
use crate::transcript::{Presence, VerifyCheck, VerifyReport};

impl Verifier {
    /// Sums up: a check passed, failed, or was not judged to its end.
    pub(super) fn report(self) -> VerifyReport {
        let bad = self.bad.as_ref();
        let failed = bad.map(|(check, _)| *check);
        let mut checks = Vec::new();
        let mut not_checked = Vec::new();
        let all_ended = failed.is_none();
        let mut judge = |name: &'static str, passed: bool, detail: String| {
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
        judge("header", header.is_some(), run_id.unwrap_or_default());
        judge(
            "contract",
            header.is_some(),
            contract_hash.unwrap_or_default(),
        );
        let entries = format!("{} entries, numbered without a gap", book.next_seq);
        judge("entries", book.ended, entries);
        let head = header.map(|h| h.chain.head());
        let head_text = head.map_or_else(String::new, |head| format!("head {head}"));
        judge("chain", book.ended, head_text);
        let outcome = book.outcome.map(|o| o.to_string()).unwrap_or_default();
        if book.sealed || !self.options.open {
            judge("seal", all_ended || (book.sealed && book.ended), outcome);
        }
        let blobs = format!("{} blobs, each re-hashed", self.blobs.present);
        judge("blobs", all_ended, blobs);
        if header.is_some_and(|h| h.claims.is_some()) {
            let detail = "the row of the run agrees with its chain".to_owned();
            judge("index", all_ended, detail);
        }
        for (presence, name, why) in [
            (Presence::Withheld, "withheld", "behind the token gate"),
            (Presence::Derivable, "requests", "of request bodies"),
        ] {
            let wanted = self.blobs.wanted.values();
            let lacking = wanted.filter(|w| w.presence == presence && !w.seen).count();
            if all_ended && lacking > 0 {
                not_checked.push(format!("{name}: {lacking} blobs {why} are not here"));
            }
        }
        if all_ended && !book.sealed {
            not_checked.push("seal: the run is in progress".to_owned());
        }
        not_checked.extend(self.notes);
        not_checked.extend(
            [
                "signature: no signed checkpoint; whoever can write it can write all of it anew",
                "pinned heads: no earlier head was given to compare with",
                "witness: nobody else vouches for the head",
                "replay: the decisions of the machine were not derived again",
            ]
            .map(str::to_owned),
        );
        VerifyReport {
            level: if all_ended { "L0" } else { "none" },
            checks,
            not_checked,
            first_bad: self.bad.map(|(_, bad)| bad),
            entries: book.next_seq,
            head,
        }
    }
}
