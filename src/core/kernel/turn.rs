//! One turn's attempts and what they failed of (semantics §4).

use serde::Serialize;
use std::collections::BTreeSet;

use super::lineup::{Lineup, position};
use super::{DropReason, OutcomeCode};
use crate::message::ProviderFaultClass;

/// The reason for a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) enum Failure {
    /// The provider had a fault.
    Provider {
        class: ProviderFaultClass,
        /// The reason, if asking that target again gains nothing.
        dropped: Option<DropReason>,
    },
    /// The adapter, or strict mode, did not accept the message.
    Rejected,
    /// No text, no calls, no reasoning.
    Blank,
    /// Text cut by the output limit.
    Cut,
    /// Text with a stop reason that the adapter does not know, or with none.
    UnknownStop,
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
            | Self::UnknownStop
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
    /// Targets that did not take its request.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    dropped: BTreeSet<usize>,
}

impl Turn {
    /// Before the first turn.
    pub(super) const fn none() -> Self {
        Self {
            dropped: BTreeSet::new(),
            number: 0,
            attempt: 0,
            started_ms: 0,
            shift: 0,
            target: 0,
            failed_of_other_than_provider: false,
            refused_targets: BTreeSet::new(),
            refusals: 0,
            failures: 0,
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

    /// Asks a target no more in this turn.
    pub(super) fn drop_target(&mut self, target: usize) {
        self.dropped.insert(target);
    }

    /// The targets that are not asked in this turn.
    pub(super) const fn dropped(&self) -> &BTreeSet<usize> {
        &self.dropped
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
        if !matches!(failure, Failure::Provider { .. } | Failure::UnknownStop) {
            self.failed_of_other_than_provider = true;
        }
        if matches!(failure, Failure::Refused(_)) {
            self.refusals += 1;
            self.refused_targets.insert(self.target);
        }
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
