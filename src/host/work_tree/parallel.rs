//! Work on many paths by several threads. Knows no path.

use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::error::WorkTreeError;
use super::watch::{StopCheck, Watch};

/// The most threads.
const MOST_THREADS: usize = 8;

/// Works on every item, and returns the results in no order. Stops at the first error, and where the watch breaks.
pub(super) fn on_each<T: Sync, R: Send>(
    items: &[T],
    watch: Watch<'_>,
    work: impl Fn(&T, StopCheck<'_>) -> Result<R, WorkTreeError> + Sync,
) -> Result<Vec<R>, WorkTreeError> {
    let next = AtomicUsize::new(0);
    let first_error = Mutex::new(None);
    let share = || {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return results;
            };
            let count = u64::try_from(at).unwrap_or(u64::MAX);
            let result = caught(|| match watch(count) {
                ControlFlow::Continue(()) => work(item, StopCheck::new(watch, count)),
                ControlFlow::Break(()) => Err(WorkTreeError::Stopped),
            });
            match result {
                Ok(result) => results.push(result),
                Err(error) => {
                    next.store(items.len(), Ordering::Relaxed);
                    let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.is_none() {
                        *first = Some(error);
                    }
                    return results;
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MOST_THREADS).min(items.len());
    let mut results = Vec::with_capacity(items.len());
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(share)).collect();
        results.extend(share());
        for other in others {
            results.extend(other.join().unwrap_or_default());
        }
    });
    let error = first_error
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None if results.len() == items.len() => Ok(results),
        None => Err(WorkTreeError::Stopped),
    }
}

/// Does some work of a thread. A panic is an error, so that the other threads do not wait for this one.
pub(super) fn caught<R>(
    work: impl FnOnce() -> Result<R, WorkTreeError>,
) -> Result<R, WorkTreeError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(WorkTreeError::Io {
            path: "the work tree".to_owned(),
            fault: io::Error::other("a thread panicked; please report it"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_an_error_ends_it() {
        fn watch(_count: u64) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
        fn stop(count: u64) -> ControlFlow<()> {
            if count < 3 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        }
        let items: Vec<u64> = (0..1_000).collect();
        let mut results = on_each(&items, &watch, |item, _| Ok(item * 2)).expect("results");
        results.sort_unstable();
        assert_eq!(results, (0..1_000).map(|item| item * 2).collect::<Vec<_>>());
        let failing = |item: &u64, _: StopCheck<'_>| match item {
            500 => Err(WorkTreeError::Unsupported),
            item => Ok(*item),
        };
        assert!(matches!(
            on_each(&items, &watch, failing),
            Err(WorkTreeError::Unsupported)
        ));
        let stopped = on_each(&items, &stop, |item, _| Ok(*item));
        assert!(matches!(stopped, Err(WorkTreeError::Stopped)));
        let panicking = on_each(&items, &watch, |item, _| match item {
            500 => panic!("a defect"),
            item => Ok(*item),
        });
        let text = panicking.expect_err("a panic").to_string();
        assert!(text.contains("panicked"), "{text}");
    }
}
