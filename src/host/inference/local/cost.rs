//! What an embedded model has cost. Counters only.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What an embedded model has cost so far.
#[derive(Debug, Default)]
pub struct EngineCost {
    evaluated: AtomicU64,
    masks: AtomicU64,
    nanoseconds: AtomicU64,
}

impl EngineCost {
    /// Notes one mask of the gate.
    pub(super) fn mask(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.masks.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Notes how many tokens of a prompt were not known.
    pub(super) fn prompt(&self, tokens: usize) {
        let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
        self.evaluated.fetch_add(tokens, Ordering::Relaxed);
    }

    /// How many masks were made, and how long that took together.
    #[must_use]
    pub fn masks(&self) -> (u64, Duration) {
        let nanoseconds = self.nanoseconds.load(Ordering::Relaxed);
        let masks = self.masks.load(Ordering::Relaxed);
        (masks, Duration::from_nanos(nanoseconds))
    }

    /// How many tokens of prompts were evaluated, those left out that were still in memory.
    #[must_use]
    pub fn evaluated(&self) -> u64 {
        self.evaluated.load(Ordering::Relaxed)
    }
}
