//! A work item's record of the runs of its agent: the entries that begin each, and its end. Verifies no
//! transcript.

use std::collections::BTreeSet;

use crate::error::ServiceError;
use monolith_core::message::{Digest, RunId};
use monolith_core::work::{WorkAction, WorkEffect, WorkEvent, WorkEventKind};
use monolith_host::store::StoreReader;

/// The item's record of one run of its agent.
pub(super) struct RecordedAgent {
    /// The number of the attempt.
    attempt: u32,
    /// The hashes of the entries that began or resumed it.
    begun: BTreeSet<Digest>,
    /// The hash of its last entry; none if its end is not recorded.
    pub(super) head: Option<Digest>,
    pub(super) item: RunId,
    pub(super) run_id: RunId,
}

/// The runs that an item recorded, one for each attempt. One that could not begin is left out.
pub(super) fn runs_of(
    reader: &mut StoreReader,
    item: &RunId,
) -> Result<Vec<RecordedAgent>, ServiceError> {
    let mut runs: Vec<RecordedAgent> = Vec::new();
    let mut recorded = reader.read_run(item)?;
    while let Some(entry) = recorded.next_of_machine() {
        let entry = entry?;
        let action: Result<WorkAction, _> = entry.decode_action();
        let event: Result<Option<WorkEvent>, _> = entry.decode_event();
        // What does not read is for the verification, which comes first.
        let (Ok(action), Ok(event)) = (action, event) else {
            break;
        };
        if let Some(WorkEventKind::RunEnded(end)) = event.map(|event| event.event)
            && let Some(mut run) = runs.pop()
            && let Some(head) = end.head
        {
            run.run_id = end.run_id;
            run.head = Some(head);
            runs.push(run);
        }
        let Some(WorkEffect::Run { attempt, .. }) = action.effect else {
            continue;
        };
        if let Some(run) = runs.last_mut().filter(|last| last.attempt == attempt) {
            run.begun.insert(entry.hash);
            continue;
        }
        let Ok(run_id) = item.step(u64::from(attempt)) else {
            break;
        };
        runs.push(RecordedAgent {
            attempt,
            begun: BTreeSet::from([entry.hash]),
            head: None,
            item: item.clone(),
            run_id,
        });
    }
    Ok(runs)
}

impl RecordedAgent {
    /// The first thing in which the run is not what the item recorded: the field, and both values.
    pub(super) fn difference(
        &self,
        reader: &mut StoreReader,
    ) -> Result<Option<(String, String, String)>, ServiceError> {
        let parent = reader.lineage(&self.run_id)?.map(|found| found.parent);
        let is_own = parent.as_ref().is_some_and(|parent| {
            let is_item = parent.call.is_none() && parent.run_id == self.item;
            is_item && self.begun.contains(&parent.head)
        });
        if !is_own {
            let expected = format!("an entry of {} that begins the run", self.item);
            let got = parent.map_or_else(|| "none".to_owned(), |parent| parent.link());
            return Ok(Some(("event.parent".to_owned(), expected, got)));
        }
        let head = reader.read_run(&self.run_id)?.row().head;
        let other = self.head.filter(|recorded| *recorded != head);
        Ok(other.map(|recorded| ("head".to_owned(), recorded.to_string(), head.to_string())))
    }

    /// The record in words.
    pub(super) fn recorded(&self) -> String {
        match self.head {
            Some(head) => format!("as {} recorded it: head {head}", self.item),
            None => format!("of {}, which has not recorded its end", self.item),
        }
    }
}
