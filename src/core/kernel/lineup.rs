//! The targets that a run may still ask, and their order (semantics §4).

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The targets that attempts go to, in the contract's order, without those that were dropped for the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lineup<'m> {
    pub(super) dropped: &'m BTreeSet<usize>,
    pub(super) targets: usize,
}

impl Lineup<'_> {
    /// The target at a position, which goes round: where that one is dropped, the next that is not.
    pub(super) fn at(&self, position: usize) -> usize {
        let first = position.checked_rem(self.targets).unwrap_or(0);
        let round = (first..self.targets).chain(0..first);
        // Where none is left, item 4 of COMMIT ends the run before a request is made: then the place itself stands for it.
        self.kept(round).next().unwrap_or(first)
    }

    /// The targets that may still be asked.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> {
        self.kept(0..self.targets)
    }

    fn kept(&self, targets: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
        targets.filter(|target| !self.dropped.contains(target))
    }
}

/// The position of an attempt in a turn that begins `shift` positions further than the first.
pub(super) fn position(shift: u32, attempt: u32) -> usize {
    let position = u64::from(shift) + u64::from(attempt.saturating_sub(1));
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// The targets that were asked since the cycle began, each with the longest wait that it asked for, where it was limited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TargetCycle(BTreeMap<usize, Option<u64>>);

impl TargetCycle {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// A target was asked, and failed of something that no wait is for.
    pub(super) fn asked(&mut self, target: usize) {
        self.0.entry(target).or_default();
    }

    /// A target was asked, and asks for a wait.
    pub(super) fn limited(&mut self, target: usize, wait_ms: u64) {
        let wait = self.0.entry(target).or_default();
        *wait = (*wait).max(Some(wait_ms));
    }

    /// A target that does not know its model belongs to no cycle any more.
    pub(super) fn leave(&mut self, target: usize) {
        self.0.remove(&target);
    }

    /// Ends the cycle where every target that is left was asked in it: the longest wait, where each of them was limited.
    pub(super) fn end(&mut self, lineup: Lineup<'_>) -> Option<u64> {
        let waits: Option<Vec<_>> = lineup.left().map(|t| self.0.get(&t).copied()).collect();
        let waits: Option<Vec<u64>> = waits?.into_iter().collect();
        self.0.clear();
        waits?.into_iter().max()
    }
}

/// For the state digest: the targets are named where there are any, so a run without failed attempts has the digests it always had.
impl Serialize for TargetCycle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let limited = || self.0.values().flatten();
        let mut fields = serializer.serialize_struct("TargetCycle", 4)?;
        fields.serialize_field("in_cycle", &self.0.len())?;
        fields.serialize_field("limited_in_cycle", &limited().count())?;
        fields.serialize_field("longest_wait_ms", &limited().max().unwrap_or(&0))?;
        if !self.0.is_empty() {
            fields.serialize_field("cycle", &self.0)?;
        }
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(dropped: &[usize], targets: usize, shift: u32) -> Vec<usize> {
        let dropped = dropped.iter().copied().collect();
        let lineup = Lineup {
            dropped: &dropped,
            targets,
        };
        (1..=5)
            .map(|attempt| lineup.at(position(shift, attempt)))
            .collect()
    }

    #[test]
    fn attempts_go_round_from_where_the_turn_begins_and_past_what_is_dropped() {
        assert_eq!(order(&[], 2, 0), [0, 1, 0, 1, 0]);
        assert_eq!(order(&[], 3, 2), [2, 0, 1, 2, 0]);
        assert_eq!(order(&[1], 3, 0), [0, 2, 2, 0, 2]);
        assert_eq!(order(&[0, 2], 3, 1), [1, 1, 1, 1, 1]);
        assert_eq!(order(&[], 0, 4), [0; 5]);
        assert_eq!(order(&[0, 1], 2, 0), [0, 1, 0, 1, 0]);
    }
}
