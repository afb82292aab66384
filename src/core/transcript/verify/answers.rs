//! Checks the signatures under answers of people. Does not know whose answers count: that is a rule of the contract, which a replay
//! holds the run against.

use std::collections::BTreeMap;

use crate::kernel::EventKind;
use crate::message::Digest;
use crate::transcript::{EntryRecord, Flaw};

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
