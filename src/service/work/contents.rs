//! The kept contents that receipts and unfinished items need. All others go.

use std::io;

use crate::error::ServiceError;
use monolith_core::message::Digest;
use monolith_core::transcript::TranscriptKind;
use monolith_core::work::Capsule;
use monolith_host::store::{RunFilter, Store, StoreReader};
use monolith_host::work_tree::Needed;

/// The contents that the items of a store need, as the file layer asks for them.
pub(super) fn needed_of(store: &Store) -> io::Result<Needed> {
    let reader = store.reader().map_err(ServiceError::from);
    let needed = reader.and_then(|mut reader| needed(&mut reader));
    needed.map_err(|fault| io::Error::other(fault.summary()))
}

/// Both sides of every change, for `thaw`, `show` and an item that reconciles; the tree before a success, for `replay`; and the tree before
/// an item that has not ended.
fn needed(reader: &mut StoreReader) -> Result<Needed, ServiceError> {
    let mut needed = Needed::default();
    let items = RunFilter::Kind(TranscriptKind::Work);
    for row in reader.list_rows(usize::MAX, items)? {
        // An item that cannot be read may need anything.
        let work_id = row.map_err(|damaged| damaged.fault)?.run_id;
        let (before, capsule) = if let Some(receipt) = reader.receipt(&work_id)? {
            let before = receipt.published.map(|_| receipt.before);
            (before, receipt.capsule)
        } else {
            let work = reader.work(&work_id)?;
            (work.before(), work.capsule().cloned())
        };
        needed.trees.extend(before);
        needed.contents.extend(contents_of(capsule.as_ref()));
    }
    Ok(needed)
}

fn contents_of(capsule: Option<&Capsule>) -> impl Iterator<Item = Digest> {
    let changes = capsule.into_iter().flat_map(|capsule| &capsule.changes);
    let nodes = changes.flat_map(|change| [&change.before, &change.after]);
    nodes.filter_map(|node| node.as_ref()?.content().copied())
}
