//! What is known of a run: its row, and what its first and last entries show.

use crate::cli::context::run_status::RunStatus;
use crate::cli::context::source::Recorded;
use crate::store::{DamagedRow, Lineage, RunRow, StoreReader};
use crate::view::{Approvals, RunOutline};

/// How many of the last entries are read first. What they leave open is looked for in more of them.
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
    let mut length = TAIL;
    loop {
        let (outline, waits, settled) = outline_of(reader, row, length);
        if settled || row.outcome.is_some() || length >= row.length {
            return (outline, waits);
        }
        length = length.saturating_mul(4);
    }
}

/// [`outline`] from so many of the last entries, and whether more of them would change nothing: processes may have left the run and
/// gone on with it any number of times since a call began to wait, and calls may have ended since the run was suspended.
fn outline_of(
    reader: &mut StoreReader,
    row: &RunRow,
    length: u64,
) -> (Option<RunOutline>, bool, bool) {
    let mut approvals = Approvals::default();
    let Ok(mut run) = reader.read_run(&row.run_id) else {
        return (None, false, true);
    };
    let contract = run.contract().ok();
    let calls = contract.as_ref().map(|c| c.max_tool_calls_per_turn);
    let first = run.next().and_then(Result::ok);
    let first = first.and_then(|entry| Recorded::decode(&entry).ok());
    let mut outline = contract
        .zip(first)
        .and_then(|(contract, first)| RunOutline::begin(&contract, &first));
    let tail = run.starting_at(row.length.saturating_sub(length));
    let mut begins = None;
    for entry in tail.filter_map(Result::ok) {
        if let Ok(decoded) = Recorded::decode(&entry) {
            let entry = decoded.entry();
            begins.get_or_insert_with(|| Approvals::is_settled_by(entry.action, entry.event));
            approvals.take(entry.action, entry.event);
            if let Some(outline) = &mut outline {
                outline.take(entry);
            }
        }
    }
    let suspended = outline.as_ref().and_then(|outline| outline.suspended);
    let most = TAIL.saturating_add(calls.unwrap_or(0));
    let settled = begins == Some(true) && (suspended.is_some() || length > most);
    (outline, approvals.awaited().is_some(), settled)
}
