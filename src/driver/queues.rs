//! Queues of calls (000 §1): how many calls of the servers that share one run at once. The others wait, and a stop lets none
//! of them begin.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::contract::ExecutionContract;

/// The queues of a run.
#[derive(Debug, Default)]
pub(super) struct Queues {
    by_name: BTreeMap<String, Arc<Queue>>,
    stopped: CancellationToken,
}

#[derive(Debug)]
struct Queue {
    name: String,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// The right to make one call; given back when it is dropped. None if nothing limits the call.
pub(super) type CallPermit = Option<OwnedSemaphorePermit>;

impl Queues {
    pub(super) fn of(contract: &ExecutionContract) -> Self {
        let made: BTreeMap<String, Arc<Queue>> = contract
            .queues
            .iter()
            .map(|(name, terms)| {
                let most = usize::try_from(terms.concurrent).unwrap_or(usize::MAX);
                let queue = Queue {
                    name: name.clone(),
                    permits: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
                    waiting: AtomicUsize::new(0),
                };
                (name.clone(), Arc::new(queue))
            })
            .collect();
        Self {
            by_name: made,
            stopped: CancellationToken::new(),
        }
    }

    /// Lets no call begin that has not begun.
    pub(super) fn stop(&self) {
        self.stopped.cancel();
    }

    /// Waits for the right to make a call in that queue. None if the call is cancelled, or a stop came, before.
    pub(super) async fn permit(
        &self,
        queue: Option<&str>,
        cancel: &CancellationToken,
    ) -> Option<CallPermit> {
        let Some(queue) = queue.and_then(|name| self.by_name.get(name)) else {
            return Some(None);
        };
        if let Ok(permit) = Arc::clone(&queue.permits).try_acquire_owned() {
            return Some(Some(permit));
        }
        let waits = Waits::begin(queue);
        let permit = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            () = self.stopped.cancelled() => None,
            permit = Arc::clone(&queue.permits).acquire_owned() => permit.ok(),
        };
        drop(waits);
        permit.map(Some)
    }

    /// How many calls wait.
    #[cfg(test)]
    fn depth(&self, name: &str) -> usize {
        let queue = self.by_name.get(name);
        queue.map_or(0, |queue| queue.waiting.load(Ordering::Relaxed))
    }
}

/// Counts a call that waits, however its wait ends.
struct Waits<'q>(&'q Queue);

impl<'q> Waits<'q> {
    fn begin(queue: &'q Queue) -> Self {
        let depth = queue.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::debug!(queue = queue.name, depth, "a call waits");
        Self(queue)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let depth = self
            .0
            .waiting
            .fetch_sub(1, Ordering::Relaxed)
            .saturating_sub(1);
        tracing::debug!(queue = self.0.name, depth, "a call waits no longer");
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::contract::{CapabilityManifest, ContractFactory, ContractSpec};

    fn queues() -> Queues {
        let text = "targets: [{provider: p, model: m, context_window: 9000}]\nproviders: {p: {type: openai}}\n\
             queues: {slow: {concurrent: 2}}\n\
             tools: {mcp: {a: {command: x, queue: slow}, b: {command: x, queue: slow}, c: {command: x}}}\n";
        let spec = ContractSpec::parse("c.yaml", text, &[]).unwrap();
        let made = ContractFactory.make(&spec, &CapabilityManifest::default(), None);
        Queues::of(&made.unwrap())
    }

    /// 000/1.queues.1, 000/1.queues.2, 000/1.queues.3
    #[tokio::test]
    async fn servers_of_one_queue_share_its_places() {
        let (queues, cancel) = (queues(), CancellationToken::new());
        let first = queues.permit(Some("slow"), &cancel).await.unwrap();
        let second = queues.permit(Some("slow"), &cancel).await.unwrap();
        assert!(first.is_some() && second.is_some());
        let mut third = Box::pin(queues.permit(Some("slow"), &cancel));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(queues.depth("slow"), 1, "they are one queue");
        // Another queue, and tools inside monolith, do not wait.
        assert!(
            queues
                .permit(Some("default"), &cancel)
                .await
                .unwrap()
                .is_some()
        );
        assert!(queues.permit(None, &cancel).await.unwrap().is_none());
        drop(first);
        assert!(third.await.unwrap().is_some());
        assert_eq!(queues.depth("slow"), 0);
    }

    #[tokio::test]
    async fn a_stop_or_a_cancellation_ends_the_wait_and_frees_nothing() {
        let (queues, cancel) = (queues(), CancellationToken::new());
        let held = [
            queues.permit(Some("slow"), &cancel).await.unwrap(),
            queues.permit(Some("slow"), &cancel).await.unwrap(),
        ];
        let own = CancellationToken::new();
        let mut cancelled = Box::pin(queues.permit(Some("slow"), &own));
        let mut stopped = Box::pin(queues.permit(Some("slow"), &cancel));
        assert!((&mut cancelled).now_or_never().is_none());
        assert!((&mut stopped).now_or_never().is_none());
        own.cancel();
        assert!(cancelled.await.is_none());
        assert_eq!(queues.depth("slow"), 1);
        queues.stop();
        assert!(stopped.await.is_none());
        assert_eq!(queues.depth("slow"), 0);
        drop(held);
    }
}
