//! The attempts at items in a store. Reads no more of them than asked for.

use crate::error::ServiceError;
use monolith_core::message::RunId;
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::{RunFilter, StoreReader};

/// The names of all attempts at items, the newest first.
pub(super) fn item_rows(reader: &StoreReader) -> Result<Vec<RunId>, ServiceError> {
    let items = RunFilter::Kind(TranscriptKind::Work);
    let rows = reader.list_rows(usize::MAX, items)?.into_iter();
    // A row that cannot be read is a finding of the store, and no item.
    Ok(rows.filter_map(|row| Some(row.ok()?.run_id)).collect())
}

/// The attempts without an end, the newest first.
pub(super) fn open_items(reader: &StoreReader) -> Result<Vec<RunId>, ServiceError> {
    let mut open = Vec::new();
    for work_id in item_rows(reader)? {
        if reader.is_open(&work_id)? {
            open.push(work_id);
        }
    }
    Ok(open)
}
