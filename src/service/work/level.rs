//! The items of one level: the tree that all of them begin from, and the order in which they publish. Drives none of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::answer::Signals;
use super::common::{Common, terms_of};
use crate::error::ServiceError;
use monolith_core::message::Digest;
use monolith_core::work::WorkItem;
use monolith_host::work_tree::{Scan, WorkTreeError};

/// A scanned tree whose contents are kept.
#[derive(Debug)]
pub(super) struct Frozen {
    /// Its tree hash.
    pub(super) hash: Digest,
    pub(super) scan: Scan,
}

/// A tree that was frozen under the terms of some items.
struct FrozenUnder {
    excludes: Vec<String>,
    frozen: Arc<Frozen>,
    include_ignored: Vec<String>,
}

/// The items of one level.
pub(super) struct Level {
    changed: Notify,
    frozen: tokio::sync::Mutex<Vec<FrozenUnder>>,
    /// The number of the level, from 0.
    pub(super) number: usize,
    /// The items that have no copy of the tree yet. Nothing is published before they have one: they begin from the same tree.
    unprepared: Mutex<BTreeSet<String>>,
    /// The items that have not ended, by their ids: they publish in this order.
    waiting: Mutex<BTreeSet<String>>,
}

impl Level {
    pub(super) fn new(number: usize, ids: impl IntoIterator<Item = String>) -> Self {
        let ids: BTreeSet<String> = ids.into_iter().collect();
        Self {
            changed: Notify::new(),
            frozen: tokio::sync::Mutex::default(),
            number,
            unprepared: Mutex::new(ids.clone()),
            waiting: Mutex::new(ids),
        }
    }

    /// The tree that an item of the level begins from. It is frozen once for all items with the same terms, and again if something else has
    /// changed the tree that is `stale`.
    pub(super) async fn frozen(
        &self,
        common: &Common,
        item: &Arc<WorkItem>,
        stale: Option<Digest>,
        signals: &Signals,
    ) -> Result<Result<Arc<Frozen>, WorkTreeError>, ServiceError> {
        let mut known = self.frozen.lock().await;
        known.retain(|one| Some(one.frozen.hash) != stale);
        let is_alike = |one: &&FrozenUnder| {
            one.excludes == item.excludes && one.include_ignored == item.include_ignored
        };
        if let Some(one) = known.iter().find(is_alike) {
            return Ok(Ok(Arc::clone(&one.frozen)));
        }
        let frozen = match freeze(common, item, signals).await? {
            Ok(frozen) => frozen,
            Err(fault) => return Ok(Err(fault)),
        };
        known.push(FrozenUnder {
            excludes: item.excludes.clone(),
            frozen: Arc::clone(&frozen),
            include_ignored: item.include_ignored.clone(),
        });
        Ok(Ok(frozen))
    }

    /// Waits until every item of the level has its copy of the tree, and every one with a smaller id has ended.
    pub(super) async fn turn_of(&self, id: &str) {
        loop {
            // Made before the look: what changes after it wakes this.
            let changed = self.changed.notified();
            let is_first = {
                let waiting = locked(&self.waiting);
                waiting.first().is_none_or(|first| first.as_str() >= id)
            };
            if is_first && locked(&self.unprepared).is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// An item has its copy of the tree.
    pub(super) fn prepared(&self, id: &str) {
        locked(&self.unprepared).remove(id);
        self.changed.notify_waiters();
    }

    /// An item has ended, is left, or does not begin.
    pub(super) fn ended(&self, id: &str) {
        locked(&self.waiting).remove(id);
        self.prepared(id);
    }
}

fn locked(ids: &Mutex<BTreeSet<String>>) -> MutexGuard<'_, BTreeSet<String>> {
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Scans the tree as it is now, and keeps its contents.
pub(super) async fn freeze(
    common: &Common,
    item: &Arc<WorkItem>,
    signals: &Signals,
) -> Result<Result<Arc<Frozen>, WorkTreeError>, ServiceError> {
    let (item, watch) = (Arc::clone(item), signals.watch());
    let frozen = common.on_tree(move |tree| {
        let scan = tree.scan(terms_of(&item), &watch)?;
        let hash = tree.snapshot(&scan, &watch)?;
        Ok(Arc::new(Frozen { hash, scan }))
    });
    frozen.await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 004/7.levels.3
    #[tokio::test]
    async fn items_of_a_level_take_their_turns_in_the_order_of_their_ids() {
        let level = Arc::new(Level::new(0, ["c", "a", "b"].map(str::to_owned)));
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for id in ["c", "b", "a"] {
            let (level, order) = (Arc::clone(&level), Arc::clone(&order));
            tasks.spawn(async move {
                tokio::task::yield_now().await;
                level.prepared(id);
                level.turn_of(id).await;
                order.lock().unwrap().push(id);
                level.ended(id);
            });
        }
        while tasks.join_next().await.is_some() {}
        assert_eq!(*order.lock().unwrap(), ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn nothing_is_published_before_every_item_has_its_copy() {
        let level = Level::new(0, ["a", "b"].map(str::to_owned));
        level.prepared("a");
        let turn = level.turn_of("a");
        let mut turn = std::pin::pin!(turn);
        let now = tokio::time::Duration::ZERO;
        assert!(tokio::time::timeout(now, &mut turn).await.is_err());
        level.prepared("b");
        turn.await;
    }
}
