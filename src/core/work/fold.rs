//! A recorded item through a fresh machine: the same events give the same entries (invariant 4).

use super::{Work, WorkAction, WorkEvent, WorkEventKind};
use crate::transcript::{Flaw, SealedMachineEntry};

/// Folds recorded entries, and compares each with what the machine decides.
#[derive(Clone, Debug, Default)]
pub struct WorkFold {
    seq: u64,
    work: Option<Work>,
}

/// The first recorded entry that the machine decides otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq}: expected {expected}, got {actual}")]
pub struct WorkFoldError {
    /// The recorded action, as JSON.
    pub actual: String,
    /// The machine's action, as JSON.
    pub expected: String,
    /// The entry.
    pub seq: u64,
}

impl WorkFold {
    /// Takes a stored entry.
    ///
    /// # Errors
    /// [`WorkFoldError`] where it does not read as an entry, or the machine decides otherwise.
    pub fn take(&mut self, entry: &SealedMachineEntry) -> Result<(), WorkFoldError> {
        let no_event = Flaw::tampered("event", "an event", "null");
        let read = entry.decode_action().and_then(|action| {
            let event = entry.decode_event()?;
            Ok((action, event.ok_or(no_event)?))
        });
        let (action, event): (WorkAction, WorkEvent) = read.map_err(|flaw| WorkFoldError {
            actual: flaw.actual,
            expected: format!("{}: {}", flaw.field, flaw.expected),
            seq: entry.seq,
        })?;
        self.apply(&action, &event)
    }

    /// Takes a recorded entry.
    ///
    /// # Errors
    /// [`WorkFoldError`] where the machine decides otherwise.
    pub fn apply(&mut self, action: &WorkAction, event: &WorkEvent) -> Result<(), WorkFoldError> {
        let seq = self.seq;
        let decided = match (&mut self.work, &event.event) {
            (Some(work), _) => work.step(event.clone()),
            (none, WorkEventKind::Started(started)) => {
                let (work, draft) = Work::start((**started).clone());
                *none = Some(work);
                Some(draft)
            }
            (None, _) => None,
        };
        self.seq = seq.saturating_add(1);
        if decided
            .as_ref()
            .is_some_and(|draft| draft.action == *action && draft.event == *event)
        {
            return Ok(());
        }
        let text = |action: &WorkAction| serde_json::to_string(action).unwrap_or_default();
        Err(WorkFoldError {
            actual: text(action),
            expected: decided.map_or_else(|| "no entry".to_owned(), |draft| text(&draft.action)),
            seq,
        })
    }

    /// The machine after the entries so far; none before entry 0.
    #[must_use]
    pub const fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    /// The machine where the entries end.
    #[must_use]
    pub fn into_work(self) -> Option<Work> {
        self.work
    }
}
