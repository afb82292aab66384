//! Holds: how long each target is left alone after a fault that may pass (semantics §4).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::message::{DigestContext, exact_sum};

const BACKOFF_FIRST_MS: u64 = 1_000;
const BACKOFF_MAX_MS: u64 = 60_000;

static JITTER_CONTEXT: DigestContext = DigestContext::new("monolith retry jitter v1");

/// The targets whose last answer was a fault that may pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Holds(BTreeMap<usize, Hold>);

/// One target's consecutive faults, and the moment before which it is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Hold {
    faults: u32,
    until_ms: u64,
}

impl Holds {
    /// Puts a target on hold from `now_ms`: for the time that it asked for, else for a backoff that doubles with each
    /// consecutive fault. Returns how long.
    pub(super) fn begin(
        &mut self,
        target: usize,
        now_ms: u64,
        asked_ms: Option<u64>,
        run_id: &str,
    ) -> u64 {
        let faults = self.0.get(&target).map_or(0, |hold| hold.faults);
        let backoff = || backoff_ms(run_id, target, faults);
        let wait_ms = asked_ms.filter(|ms| *ms > 0).unwrap_or_else(backoff);
        let hold = Hold {
            faults: faults.saturating_add(1),
            until_ms: exact_sum(now_ms, wait_ms),
        };
        self.0.insert(target, hold);
        wait_ms
    }

    /// Puts another target on hold for as long as `target`.
    pub(super) fn share(&mut self, target: usize, other: usize) {
        if let Some(hold) = self.0.get(&target).copied() {
            self.0.insert(other, hold);
        }
    }

    /// A target answered: its next fault counts as the first.
    pub(super) fn end(&mut self, target: usize) {
        self.0.remove(&target);
    }

    /// The moment before which a target is not asked; `None` if it may be asked at `now_ms`.
    pub(super) fn until(&self, target: usize, now_ms: u64) -> Option<u64> {
        let hold = self.0.get(&target)?;
        (hold.until_ms > now_ms).then_some(hold.until_ms)
    }

    /// Time passed in which the run's clock stood still.
    pub(super) fn pass(&mut self, elapsed_ms: u64) {
        for hold in self.0.values_mut() {
            hold.until_ms = hold.until_ms.saturating_sub(elapsed_ms);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the part that decides: each target's faults and the rest of its hold.
    pub(super) fn key(&self, now_ms: u64) -> Vec<(usize, u32, u64)> {
        let rest = |hold: &Hold| hold.until_ms.saturating_sub(now_ms);
        let holds = self.0.iter();
        holds
            .map(|(target, hold)| (*target, hold.faults, rest(hold)))
            .collect()
    }
}

/// `min(1000 × 2^faults, 60000)` and up to half of it more, from a hash: many runs that one provider limits at the same moment
/// do not return at the same moment, and a replay waits as long.
fn backoff_ms(run_id: &str, target: usize, faults: u32) -> u64 {
    // 2^6 seconds are more than the longest wait already; further bits would be shifted out.
    let plain = (BACKOFF_FIRST_MS << faults.min(6)).min(BACKOFF_MAX_MS);
    let target = u64::try_from(target).unwrap_or(u64::MAX);
    let hashed = JITTER_CONTEXT.framed(&[
        run_id.as_bytes(),
        &target.to_le_bytes(),
        &u64::from(faults).to_le_bytes(),
    ]);
    let first: Option<&[u8; 8]> = hashed.as_bytes().first_chunk();
    let drawn = first.copied().map_or(0, u64::from_le_bytes);
    let jitter = drawn.checked_rem(plain / 2 + 1).unwrap_or(0);
    plain + jitter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backoff_doubles_up_to_a_minute_and_half_of_it_is_drawn() {
        let mut holds = Holds::default();
        let waits: Vec<u64> = (0..9).map(|_| holds.begin(0, 0, None, "r-1")).collect();
        let plain = [1, 2, 4, 8, 16, 32, 60, 60, 60].map(|s| s * 1_000);
        for (wait, plain) in waits.iter().zip(plain) {
            assert!((plain..=plain * 3 / 2).contains(wait), "{wait} of {plain}");
        }
        let drawn = |target, run| backoff_ms(run, target, 3);
        assert_ne!(drawn(0, "r-1"), drawn(1, "r-1"));
        assert_ne!(drawn(0, "r-1"), drawn(0, "r-2"));
        assert_eq!(drawn(0, "r-1"), drawn(0, "r-1"));
    }

    #[test]
    fn a_stated_wait_counts_as_it_is_and_an_answer_ends_the_count() {
        let mut holds = Holds::default();
        assert_eq!(holds.begin(0, 100, Some(7_000), "r-1"), 7_000);
        assert_eq!(holds.until(0, 7_099), Some(7_100));
        assert_eq!(holds.until(0, 7_100), None);
        assert!(holds.begin(0, 0, Some(0), "r-1") >= 2_000);
        holds.end(0);
        assert!(holds.begin(0, 0, None, "r-1") <= 1_500);
    }

    #[test]
    fn time_between_two_processes_counts_in_a_hold() {
        let mut holds = Holds::default();
        holds.begin(0, 1_000, Some(30_000), "r-1");
        holds.pass(20_000);
        assert_eq!(holds.until(0, 1_000), Some(11_000));
        holds.pass(u64::MAX);
        assert_eq!(holds.until(0, 1_000), None);
    }
}
