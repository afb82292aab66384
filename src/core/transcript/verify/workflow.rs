//! Checks the entries of a workflow: the same chain, numbers and seal as those of a run. Does not know what a workflow decides.

use super::Verifier;
use super::checks::no_header;
use super::parent::{Finding, Verdict};
use crate::kernel::State;
use crate::transcript::{Flaw, FlawKind, Link, Location, SealedOutcome, WorkflowEntryRecord};

/// The state in which every workflow begins, and that in which it has ended.
const FIRST: &str = "RUNNING";
const LAST: &str = "TERMINATE";

impl Verifier {
    pub(super) fn workflow_entry(
        &mut self,
        location: Location,
        entry: &WorkflowEntryRecord<'_>,
    ) -> Verdict {
        let Some(header) = &mut self.header else {
            return Err(no_header());
        };
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
            .extend(&Link::of_workflow(&head.to, entry.event, entry.action));
        if computed != entry.hash {
            return refuse("chain", Flaw::tampered("hash", computed, entry.hash));
        }
        let before = self.workflow_state.as_deref().unwrap_or(FIRST);
        if head.from != before {
            return refuse("entries", Flaw::tampered("action.from", before, &head.from));
        }
        let seals = head.kind == "seal";
        if (head.kind == "start") != (at == 0) || seals != (before == LAST) {
            let expected = "the start first, the seal last, and neither elsewhere";
            return refuse(
                "entries",
                Flaw::tampered("action.kind", expected, &head.kind),
            );
        }
        if at == 0 {
            let Some(binding) = &entry.binding else {
                return refuse("entries", Flaw::tampered("event", "started", entry.event));
            };
            if binding.run_id != header.run_id.as_str() {
                let flaw = Flaw::tampered("event.run_id", &header.run_id, &binding.run_id);
                return refuse("entries", flaw);
            }
            if binding.definition_hash != header.contract_hash {
                let stated = binding.definition_hash;
                let flaw = Flaw::tampered("event.definition_hash", header.contract_hash, stated);
                return refuse("entries", flaw);
            }
            book.started_unix_ms = Some(binding.started_unix_ms);
        }
        let outcome = head.outcome.map(SealedOutcome::from);
        if seals {
            let length = at.saturating_add(1);
            if head.length != Some(length) || outcome.is_none() || outcome != book.outcome {
                let expected = format!("{length} entries and the outcome that was decided");
                return refuse(
                    "seal",
                    Flaw::tampered("action.length", expected, entry.action),
                );
            }
            book.sealed = true;
        }
        self.signed.heads.push(entry.hash);
        book.outcome = outcome;
        book.last_state = (head.to == LAST).then_some(State::Terminate);
        book.next_seq = at.saturating_add(1);
        book.location = Some(location);
        self.workflow_state = Some(head.to.clone());
        Ok(())
    }
}
