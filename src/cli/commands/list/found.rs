//! What is known of a run: its row, and what its first and last entries show.

use crate::cli::context::run_status::RunStatus;
use crate::cli::context::source::Recorded;
use crate::store::{DamagedRow, Lineage, RunRow, StoreReader};
use crate::view::{Approvals, RunOutline};

/// How many entries may follow the one that asked: those of processes that went on with the run.
const TAIL: u64 = 16;

/// A row and what is known beside it.
pub(super) struct Found {
    pub(super) row: RunRow,
    pub(super) lineage: Option<Lineage>,
    /// None where nothing is recorded, or its entries cannot be read.
    pub(super) outline: Option<RunOutline>,
    pub(super) status: Option<RunStatus>,
    /// Whether a call of it waits for a person.
    pub(super) waits: bool,
}

/// What is known of a run beside its row.
pub(super) fn found(reader: &mut StoreReader, row: &RunRow) -> Result<Found, DamagedRow> {
    let run = row.run_id.as_str().to_owned();
    let mut look = || {
        let status = RunStatus::of(reader, row)?;
        let row = match status {
            Some(_) => row.clone(),
            // It may have ended since the row was read.
            None => reader.read_run(&row.run_id)?.row().clone(),
        };
        let lineage = reader.lineage(&row.run_id)?;
        let (outline, waits) = outline(reader, &row);
        Ok(Found {
            row,
            lineage,
            outline,
            waits: waits && status.is_some(),
            status,
        })
    };
    look().map_err(|fault| DamagedRow { run, fault })
}

/// What the first and the last entries show, and whether these leave a call waiting for a person. One that cannot be read is
/// `verify`'s to report.
fn outline(reader: &mut StoreReader, row: &RunRow) -> (Option<RunOutline>, bool) {
    let mut approvals = Approvals::default();
    let Ok(mut run) = reader.read_run(&row.run_id) else {
        return (None, false);
    };
    let contract = run.contract().ok();
    let first = run.next().and_then(Result::ok);
    let first = first.and_then(|entry| Recorded::decode(&entry).ok());
    let mut outline = contract
        .zip(first)
        .and_then(|(contract, first)| RunOutline::begin(&contract, &first));
    let tail = run.starting_at(row.length.saturating_sub(TAIL));
    for entry in tail.filter_map(Result::ok) {
        if let Ok(decoded) = Recorded::decode(&entry) {
            let entry = decoded.entry();
            approvals.take(entry.action, entry.event);
            if let Some(outline) = &mut outline {
                outline.take(entry);
            }
        }
    }
    (outline, approvals.awaited().is_some())
}
