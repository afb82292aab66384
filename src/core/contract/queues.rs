//! The queues of a contract and the queue of each server. Queues nothing itself.

use std::collections::BTreeMap;

use super::{ContractSpec, QueueTerms};

/// How many calls the default queue runs at once where the author does not say.
const DEFAULT_CONCURRENT: u32 = 16;

/// Whether the author speaks of queues at all. Where not, calls wait for nothing.
fn has_queues(spec: &ContractSpec) -> bool {
    let named = spec
        .tools
        .servers
        .values()
        .any(|server| server.queue.is_some());
    named || !spec.queues.is_empty()
}

/// The author's queues, and the default one where they lack it (000 §7).
pub(super) fn queues(spec: &ContractSpec) -> BTreeMap<String, QueueTerms> {
    let mut queues = spec.queues.clone();
    if has_queues(spec) {
        let default_value = QueueTerms {
            concurrent: DEFAULT_CONCURRENT,
        };
        queues
            .entry(QueueTerms::DEFAULT.to_owned())
            .or_insert(default_value);
    }
    queues
}

/// The queue of a server that names one, or none; none if the contract has none.
pub(super) fn queue_of(spec: &ContractSpec, named: Option<&str>) -> Option<String> {
    let named = named.unwrap_or(QueueTerms::DEFAULT);
    has_queues(spec).then(|| named.to_owned())
}
