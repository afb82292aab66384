//! The question whether to stop: asked between paths, and within a large file. Stops nothing itself.

use std::error::Error;
use std::fmt;
use std::io;
use std::ops::ControlFlow;

/// A function that is called from time to time with the number of paths so far, also within a large file, from any thread. The work stops
/// where it breaks.
pub type Watch<'w> = &'w (dyn Fn(u64) -> ControlFlow<()> + Sync);

/// Bytes of a file between two calls of the watch.
const WATCHED_BYTES: u64 = 4 << 20;

/// The watch while one file is read.
#[derive(Clone, Copy)]
pub(super) struct StopCheck<'w> {
    count: u64,
    watch: Option<Watch<'w>>,
}

impl<'w> StopCheck<'w> {
    /// A file that is read to its end in any case.
    pub(super) const NEVER: Self = Self {
        count: 0,
        watch: None,
    };

    /// A check that passes on the number of paths so far.
    pub(super) fn new(watch: Watch<'w>, count: u64) -> Self {
        Self {
            count,
            watch: Some(watch),
        }
    }

    /// Counts bytes, and asks the watch each few MiB.
    pub(super) fn add(self, bytes: &mut u64, more: usize) -> io::Result<()> {
        let before = *bytes / WATCHED_BYTES;
        *bytes = bytes.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        match self.watch {
            Some(watch) if *bytes / WATCHED_BYTES > before && watch(self.count).is_break() => {
                Err(io::Error::other(Stop))
            }
            _ => Ok(()),
        }
    }
}

/// The inner error of a file that is read no further.
#[derive(Debug)]
struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped")
    }
}

impl Error for Stop {}

/// True for the error of a [`StopCheck`].
pub(super) fn is_stop(fault: &io::Error) -> bool {
    fault
        .get_ref()
        .is_some_and(<dyn Error + Send + Sync>::is::<Stop>)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn the_watch_is_asked_each_few_mebibytes_of_a_file() {
        let asked = AtomicU64::new(0);
        let watch = |_: u64| {
            if asked.fetch_add(1, Ordering::Relaxed) < 2 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let check = StopCheck::new(&watch, 7);
        let mut bytes = 0;
        let stop = (0..100).find_map(|_| check.add(&mut bytes, 1 << 20).err());
        assert!(stop.is_some_and(|fault| is_stop(&fault)));
        assert_eq!(bytes, WATCHED_BYTES * 3);
    }
}
