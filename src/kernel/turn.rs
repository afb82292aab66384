//! One turn's attempts and what they failed of (semantics §4).

use serde::Serialize;
use std::collections::BTreeSet;

use super::OutcomeCode;
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
    },
    /// The adapter, or strict mode, did not accept the message.
    Rejected(Rejection),
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

/// What a rejection was of: it decides between MALFORMED and VALIDATION(arguments).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum Rejection {
    /// The structure of the message.
    Structural,
    /// A name, or well-formed arguments that break the schema.
    Arguments,
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
    failed_of_other_than_provider: bool,
    refused_targets: BTreeSet<usize>,
    refusals: u32,
    failures: u32,
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
            failed_of_other_than_provider: false,
            refused_targets: BTreeSet::new(),
            refusals: 0,
            failures: 0,
            limited_in_cycle: 0,
            longest_wait_ms: 0,
            waits: 0,
        }
    }

    /// The next turn, at its first attempt.
    pub(super) fn begin(number: u32, now_ms: u64) -> Self {
        Self {
            number,
            attempt: 1,
            started_ms: now_ms,
            ..Self::none()
        }
    }

    /// This turn without when it began: what two turns share that react equally.
    pub(super) fn timeless(&self) -> Self {
        Self {
            started_ms: 0,
            ..self.clone()
        }
    }

    /// The target of the running attempt: `targets[(n - 1) % len]`.
    pub(super) fn target(&self, targets: usize) -> usize {
        target_of(self.attempt, targets)
    }

    /// Records why the running attempt failed.
    pub(super) fn record(&mut self, failure: &Failure, targets: usize) {
        self.failures += 1;
        if !matches!(failure, Failure::Provider { .. }) {
            self.failed_of_other_than_provider = true;
        }
        if matches!(failure, Failure::Refused(_)) {
            self.refusals += 1;
            self.refused_targets.insert(self.target(targets));
        }
        if self.target(targets) == 0 {
            self.limited_in_cycle = 0;
            self.longest_wait_ms = 0;
        }
        if let Failure::Provider {
            class: ProviderFaultClass::RateLimit,
            retry_after_ms,
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
    pub(super) fn take_wait(&mut self, targets: usize) -> Option<u64> {
        let cycle_ended = self.target(targets) + 1 == targets.max(1);
        let all_limited = usize::try_from(self.limited_in_cycle).is_ok_and(|n| n >= targets);
        if !(cycle_ended && all_limited) {
            return None;
        }
        self.waits += 1;
        self.limited_in_cycle = 0;
        Some(std::mem::take(&mut self.longest_wait_ms))
    }

    /// Whether every recorded failure was the provider's.
    pub(super) const fn only_provider_errors(&self) -> bool {
        self.failures > 0 && !self.failed_of_other_than_provider
    }

    /// Whether every recorded failure was a refusal.
    pub(super) const fn only_refusals(&self) -> bool {
        self.failures > 0 && self.refusals == self.failures
    }

    /// Whether every target has refused in this turn.
    pub(super) fn every_target_refused(&self, targets: usize) -> bool {
        targets > 0 && self.refused_targets.len() >= targets
    }
}

/// The target that an attempt goes to.
pub(super) fn target_of(attempt: u32, targets: usize) -> usize {
    let zero_based = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
    zero_based.checked_rem(targets).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITED: Failure = Failure::Provider {
        class: ProviderFaultClass::RateLimit,
        retry_after_ms: None,
    };

    fn limited_for(ms: u64) -> Failure {
        Failure::Provider {
            class: ProviderFaultClass::RateLimit,
            retry_after_ms: Some(ms),
        }
    }

    #[test]
    fn attempts_cycle_through_the_targets() {
        let order: Vec<usize> = (1..=5).map(|attempt| target_of(attempt, 2)).collect();
        assert_eq!(order, [0, 1, 0, 1, 0]);
        assert_eq!(target_of(3, 0), 0);
    }

    #[test]
    fn only_a_wholly_limited_cycle_waits_and_the_longest_wins() {
        let mut turn = Turn::begin(1, 0);
        turn.record(&limited_for(7_000), 2);
        assert_eq!(turn.take_wait(2), None);
        turn.attempt = 2;
        turn.record(&LIMITED, 2);
        assert_eq!(turn.take_wait(2), Some(7_000));
        assert_eq!(turn.take_wait(2), None, "once for the cycle");
    }

    #[test]
    fn another_fault_in_the_cycle_means_no_wait() {
        let mut turn = Turn::begin(1, 0);
        turn.record(&LIMITED, 2);
        turn.attempt = 2;
        let network = Failure::Provider {
            class: ProviderFaultClass::Network,
            retry_after_ms: None,
        };
        turn.record(&network, 2);
        assert_eq!(turn.take_wait(2), None);
    }

    #[test]
    fn backoff_doubles_up_to_a_minute() {
        let mut turn = Turn::begin(1, 0);
        let mut waits = Vec::new();
        for attempt in 1..=70 {
            turn.attempt = attempt;
            turn.record(&LIMITED, 1);
            waits.extend(turn.take_wait(1));
        }
        assert_eq!(waits[..6], [1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
        assert_eq!(waits[6..], [60_000; 64]);
    }
}
