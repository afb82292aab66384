//! One turn's attempts and what they failed of (semantics §4).

use serde::Serialize;
use std::collections::BTreeSet;

use super::OutcomeCode;
use super::lineup::{Lineup, position};
use crate::message::ProviderFaultClass;

const BACKOFF_FIRST_MS: u64 = 1_000;
const BACKOFF_MAX_MS: u64 = 60_000;

/// What an attempt failed of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum Failure {
    /// The provider had a fault; `retry_after_ms` only for rate limits.
    Provider {
        class: ProviderFaultClass,
        retry_after_ms: Option<u64>,
        /// It does not know the model: the target is dropped.
        unknown_model: bool,
    },
    /// The adapter, or strict mode, did not accept the message.
    Rejected,
    /// No text, no calls, no reasoning.
    Blank,
    /// Text cut by the output limit.
    Cut,
    /// The model or a filter refused.
    Refused(OutcomeCode),
    /// Text, or a report that nothing proves, where only a final report counts.
    Prose,
    /// In the closing turn: a final report, or text in its place, that breaks its format.
    Report,
    /// In the closing turn: withheld tools called, and no text.
    WithheldCalls,
}

/// The turn that is running.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) struct Turn {
    /// The turn's number, from 1; 0 before the first.
    pub(super) number: u32,
    /// The attempt, from 1; 0 before the first.
    pub(super) attempt: u32,
    /// When its first INFER was entered, on the run's clock without parked time.
    pub(super) started_ms: u64,
    /// By how many positions the order of its targets is moved on: the invalid turns right before it.
    shift: u32,
    /// The target of the running attempt.
    target: usize,
    failed_of_other_than_provider: bool,
    refused_targets: BTreeSet<usize>,
    refusals: u32,
    failures: u32,
    /// Attempts since the cycle of targets began, and of those the limited ones.
    in_cycle: u32,
    limited_in_cycle: u32,
    longest_wait_ms: u64,
    waits: u32,
}

impl Turn {
    /// Before the first turn.
    pub(super) const fn none() -> Self {
        Self {
            number: 0,
            attempt: 0,
            started_ms: 0,
            shift: 0,
            target: 0,
            failed_of_other_than_provider: false,
            refused_targets: BTreeSet::new(),
            refusals: 0,
            failures: 0,
            in_cycle: 0,
            limited_in_cycle: 0,
            longest_wait_ms: 0,
            waits: 0,
        }
    }

    /// The next turn, at its first attempt, after so many invalid turns.
    pub(super) fn begin(number: u32, now_ms: u64, shift: u32, lineup: Lineup<'_>) -> Self {
        Self {
            number,
            attempt: 1,
            started_ms: now_ms,
            shift,
            target: lineup.at(position(shift, 1)),
            ..Self::none()
        }
    }

    /// Goes on to the next attempt.
    pub(super) fn next_attempt(&mut self, lineup: Lineup<'_>) {
        self.target = self.next_target(lineup);
        self.attempt = self.attempt.saturating_add(1);
    }

    /// The target of the next attempt.
    pub(super) fn next_target(&self, lineup: Lineup<'_>) -> usize {
        lineup.at(position(self.shift, self.attempt.saturating_add(1)))
    }

    /// This turn without when it began: what two turns share that react equally.
    pub(super) fn timeless(&self) -> Self {
        Self {
            started_ms: 0,
            ..self.clone()
        }
    }

    /// The target of the running attempt.
    pub(super) const fn target(&self) -> usize {
        self.target
    }

    /// Records why the running attempt failed.
    pub(super) fn record(&mut self, failure: &Failure) {
        self.failures += 1;
        if !matches!(failure, Failure::Provider { .. }) {
            self.failed_of_other_than_provider = true;
        }
        if matches!(failure, Failure::Refused(_)) {
            self.refusals += 1;
            self.refused_targets.insert(self.target);
        }
        // A target that does not know its model belongs to no cycle any more.
        if matches!(
            failure,
            Failure::Provider {
                unknown_model: true,
                ..
            }
        ) {
            return;
        }
        self.in_cycle += 1;
        if let Failure::Provider {
            class: ProviderFaultClass::RateLimit,
            retry_after_ms,
            ..
        } = failure
        {
            self.limited_in_cycle += 1;
            // 2^6 seconds are more than the longest wait already; further bits would be shifted out.
            let backoff = (BACKOFF_FIRST_MS << self.waits.min(6)).min(BACKOFF_MAX_MS);
            let wait = retry_after_ms.filter(|ms| *ms > 0).unwrap_or(backoff);
            self.longest_wait_ms = self.longest_wait_ms.max(wait);
        }
    }

    /// How long to wait before the next attempt: only where every target of the cycle was limited, once for the cycle.
    pub(super) fn take_wait(&mut self, lineup: Lineup<'_>) -> Option<u64> {
        let left = lineup.left().count();
        if usize::try_from(self.in_cycle).is_ok_and(|asked| asked < left) {
            return None;
        }
        let all_limited = self.limited_in_cycle > 0 && self.limited_in_cycle == self.in_cycle;
        self.in_cycle = 0;
        self.limited_in_cycle = 0;
        let longest = std::mem::take(&mut self.longest_wait_ms);
        self.waits += u32::from(all_limited);
        all_limited.then_some(longest)
    }

    /// Whether every recorded failure was the provider's.
    pub(super) const fn only_provider_errors(&self) -> bool {
        self.failures > 0 && !self.failed_of_other_than_provider
    }

    /// Whether every recorded failure was a refusal.
    pub(super) const fn only_refusals(&self) -> bool {
        self.failures > 0 && self.refusals == self.failures
    }

    /// Whether every target that may be asked has refused in this turn.
    pub(super) fn every_target_refused(&self, lineup: Lineup<'_>) -> bool {
        let mut left = lineup.left();
        left.all(|target| self.refused_targets.contains(&target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITED: Failure = Failure::Provider {
        class: ProviderFaultClass::RateLimit,
        retry_after_ms: None,
        unknown_model: false,
    };
    const UNREACHABLE: Failure = Failure::Provider {
        class: ProviderFaultClass::Network,
        retry_after_ms: None,
        unknown_model: false,
    };
    const UNKNOWN: Failure = Failure::Provider {
        class: ProviderFaultClass::Model,
        retry_after_ms: None,
        unknown_model: true,
    };

    fn limited_for(ms: u64) -> Failure {
        Failure::Provider {
            class: ProviderFaultClass::RateLimit,
            retry_after_ms: Some(ms),
            unknown_model: false,
        }
    }

    /// The waits after each of these failures, where that many targets are left after it.
    fn waits(failures: &[(Failure, usize)]) -> Vec<Option<u64>> {
        let dropped = BTreeSet::new();
        let of = |targets| Lineup {
            dropped: &dropped,
            targets,
        };
        let mut turn = Turn::begin(1, 0, 0, of(1));
        let wait = |(failure, left): &(Failure, usize)| {
            turn.record(failure);
            turn.take_wait(of(*left))
        };
        failures.iter().map(wait).collect()
    }

    #[test]
    fn only_a_wholly_limited_cycle_waits_and_the_longest_wins() {
        assert_eq!(
            waits(&[(limited_for(7_000), 2), (LIMITED, 2), (LIMITED, 2)]),
            [None, Some(7_000), None],
            "once for the cycle"
        );
    }

    #[test]
    fn another_fault_in_the_cycle_means_no_wait() {
        assert_eq!(
            waits(&[(LIMITED, 2), (UNREACHABLE, 2), (LIMITED, 2), (LIMITED, 2)]),
            [None, None, None, Some(1_000)]
        );
    }

    #[test]
    fn a_target_that_is_dropped_belongs_to_no_cycle() {
        assert_eq!(
            waits(&[(LIMITED, 3), (UNKNOWN, 2), (LIMITED, 2)]),
            [None, None, Some(1_000)]
        );
        assert_eq!(waits(&[(LIMITED, 2), (UNKNOWN, 1)]), [None, Some(1_000)]);
    }

    #[test]
    fn backoff_doubles_up_to_a_minute() {
        let waits: Vec<u64> = waits(&vec![(LIMITED, 1); 70])
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(waits[..6], [1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
        assert_eq!(waits[6..], [60_000; 64]);
    }
}
