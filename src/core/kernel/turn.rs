//! One turn's attempts and what they failed of (semantics §4).

use serde::Serialize;
use std::collections::BTreeSet;

use super::OutcomeCode;
use super::lineup::{Lineup, TargetCycle, position};
use crate::message::ProviderFaultClass;

const BACKOFF_FIRST_MS: u64 = 1_000;
const BACKOFF_MAX_MS: u64 = 60_000;

/// The reason for a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum Failure {
    /// The provider had a fault; `retry_after_ms` only for rate limits.
    Provider {
        class: ProviderFaultClass,
        retry_after_ms: Option<u64>,
        /// True if asking it again gains nothing: the target is dropped. State digests have it under its first name.
        #[serde(rename = "unknown_model")]
        ends_target: bool,
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

impl Failure {
    /// The code of a fault that ends the run at once.
    pub(super) const fn fatal_code(&self) -> Option<OutcomeCode> {
        match self {
            Self::Provider {
                class: ProviderFaultClass::Auth,
                ..
            } => Some(OutcomeCode::ProviderAuth),
            Self::Provider {
                class: ProviderFaultClass::Quota,
                ..
            } => Some(OutcomeCode::ProviderQuota),
            Self::Provider { .. }
            | Self::Rejected
            | Self::Blank
            | Self::Cut
            | Self::Refused(_)
            | Self::Prose
            | Self::Report
            | Self::WithheldCalls => None,
        }
    }

    /// True if the provider said that the request does not fit.
    pub(super) const fn is_overflow(&self) -> bool {
        matches!(
            self,
            Self::Provider {
                class: ProviderFaultClass::ContextOverflow,
                ..
            }
        )
    }
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
    #[serde(flatten)]
    cycle: TargetCycle,
    waits: u32,
}

impl Turn {
    /// Before the first turn.
    pub(super) const fn none() -> Self {
        Self {
            cycle: TargetCycle::new(),
            number: 0,
            attempt: 0,
            started_ms: 0,
            shift: 0,
            target: 0,
            failed_of_other_than_provider: false,
            refused_targets: BTreeSet::new(),
            refusals: 0,
            failures: 0,
            waits: 0,
        }
    }

    /// The next turn, at its first attempt, after so many invalid turns.
    pub(super) fn begin(number: u32, now_ms: u64, shift: u32, target: usize) -> Self {
        Self {
            number,
            attempt: 1,
            started_ms: now_ms,
            shift,
            target,
            ..Self::none()
        }
    }

    /// Moves to the next attempt.
    pub(super) fn next_attempt(&mut self, target: usize) {
        self.target = target;
        self.attempt = self.attempt.saturating_add(1);
    }

    /// Asks another target in the running attempt.
    pub(super) const fn ask_elsewhere(&mut self, target: usize) {
        self.target = target;
    }

    /// The target of the running attempt among these.
    pub(super) fn same_target(&self, lineup: Lineup<'_>) -> usize {
        lineup.at(position(self.shift, self.attempt))
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
        match failure {
            Failure::Provider {
                ends_target: true, ..
            } => self.cycle.leave(self.target),
            Failure::Provider {
                class: ProviderFaultClass::RateLimit,
                retry_after_ms,
                ..
            } => {
                // 2^6 seconds are more than the longest wait already; further bits would be shifted out.
                let backoff = (BACKOFF_FIRST_MS << self.waits.min(6)).min(BACKOFF_MAX_MS);
                let wait_ms = retry_after_ms.filter(|ms| *ms > 0).unwrap_or(backoff);
                self.cycle.limited(self.target, wait_ms);
            }
            Failure::Provider { .. }
            | Failure::Rejected
            | Failure::Blank
            | Failure::Cut
            | Failure::Refused(_)
            | Failure::Prose
            | Failure::Report
            | Failure::WithheldCalls => self.cycle.asked(self.target),
        }
    }

    /// Takes the wait before the next attempt: only if every target of the cycle was limited, once for the cycle.
    pub(super) fn take_wait(&mut self, lineup: Lineup<'_>) -> Option<u64> {
        let wait_ms = self.cycle.end(lineup)?;
        self.waits += 1;
        Some(wait_ms)
    }

    /// True if every recorded failure was the provider's.
    pub(super) const fn only_provider_errors(&self) -> bool {
        self.failures > 0 && !self.failed_of_other_than_provider
    }

    /// True if every recorded failure was a refusal.
    pub(super) const fn only_refusals(&self) -> bool {
        self.failures > 0 && self.refusals == self.failures
    }

    /// True if every target that may be asked has refused in this turn.
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
        ends_target: false,
    };
    const UNREACHABLE: Failure = Failure::Provider {
        class: ProviderFaultClass::Network,
        retry_after_ms: None,
        ends_target: false,
    };
    const UNKNOWN: Failure = Failure::Provider {
        class: ProviderFaultClass::Model,
        retry_after_ms: None,
        ends_target: true,
    };

    fn limited_for(ms: u64) -> Failure {
        Failure::Provider {
            class: ProviderFaultClass::RateLimit,
            retry_after_ms: Some(ms),
            ends_target: false,
        }
    }

    /// The waits after each of these failures of a turn with so many targets.
    fn waits(failures: &[Failure], targets: usize) -> Vec<Option<u64>> {
        waits_behind(failures, targets, &[], 0)
    }

    /// The same of a turn that begins so many positions further on, after those targets were dropped.
    fn waits_behind(
        failures: &[Failure],
        targets: usize,
        dropped: &[usize],
        shift: u32,
    ) -> Vec<Option<u64>> {
        let mut dropped: BTreeSet<usize> = dropped.iter().copied().collect();
        let first = Lineup {
            dropped: &dropped,
            targets,
        };
        let mut turn = Turn::begin(1, 0, shift, first.at(position(shift, 1)));
        let mut wait = |failure: &Failure| {
            if *failure == UNKNOWN {
                dropped.insert(turn.target());
            }
            let lineup = Lineup {
                dropped: &dropped,
                targets,
            };
            turn.record(failure);
            let wait = turn.take_wait(lineup);
            turn.next_attempt(turn.next_target(lineup));
            wait
        };
        failures.iter().map(&mut wait).collect()
    }

    #[test]
    fn only_a_wholly_limited_cycle_waits_and_the_longest_wins() {
        assert_eq!(
            waits(&[limited_for(7_000), LIMITED, LIMITED], 2),
            [None, Some(7_000), None],
            "once for the cycle"
        );
    }

    #[test]
    fn another_fault_in_the_cycle_means_no_wait() {
        assert_eq!(
            waits(&[LIMITED, UNREACHABLE, LIMITED, LIMITED], 2),
            [None, None, None, Some(1_000)]
        );
    }

    #[test]
    fn a_target_that_is_dropped_belongs_to_no_cycle() {
        assert_eq!(
            waits(&[LIMITED, UNKNOWN, LIMITED], 3),
            [None, None, Some(1_000)]
        );
        assert_eq!(waits(&[LIMITED, UNKNOWN], 2), [None, Some(1_000)]);
        // 2 is asked again instead of 1, and the wait that it asked for before it was dropped does not count.
        assert_eq!(
            waits_behind(&[limited_for(9_000), UNKNOWN, LIMITED], 3, &[1], 1),
            [None, None, Some(1_000)]
        );
    }

    #[test]
    fn a_target_that_is_asked_twice_is_one_of_its_cycle() {
        // 2 stands at its own position and at that of 1.
        let failures = [
            LIMITED,
            limited_for(4_000),
            limited_for(3_000),
            limited_for(5_000),
            UNREACHABLE,
            UNREACHABLE,
            UNREACHABLE,
            limited_for(6_000),
            limited_for(2_000),
        ];
        assert_eq!(
            waits_behind(&failures, 3, &[1], 1),
            [
                None,
                None,
                Some(4_000),
                None,
                None,
                None,
                None,
                None,
                Some(6_000)
            ]
        );
    }

    #[test]
    fn backoff_doubles_up_to_a_minute() {
        let waits: Vec<u64> = waits(&vec![LIMITED; 70], 1).into_iter().flatten().collect();
        assert_eq!(waits[..6], [1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
        assert_eq!(waits[6..], [60_000; 64]);
    }
}
