//! The targets that a run may still ask, and their order (semantics §4).

use std::collections::BTreeSet;

use super::holds::Holds;

/// The targets that attempts go to, in the contract's order, without those that were dropped for the run or for the turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lineup<'m> {
    pub(super) dropped: &'m BTreeSet<usize>,
    /// Targets that are not asked in this turn.
    pub(super) dropped_in_turn: &'m BTreeSet<usize>,
    pub(super) holds: &'m Holds,
    pub(super) now_ms: u64,
    pub(super) targets: usize,
}

impl Lineup<'_> {
    /// The target at a position, which goes round: from there the first that is neither dropped nor on hold; if all are on hold,
    /// the one whose hold ends first.
    pub(super) fn at(&self, position: usize) -> usize {
        let first = position.checked_rem(self.targets).unwrap_or(0);
        let round = (first..self.targets).chain(0..first);
        let until = |target: &usize| self.holds.until(*target, self.now_ms);
        // Where none is left, item 4 of COMMIT ends the run before a request is made: then the place itself stands for it.
        self.kept(round).min_by_key(until).unwrap_or(first)
    }

    /// The targets that may still be asked.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> {
        self.kept(0..self.targets)
    }

    fn kept(&self, targets: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
        targets.filter(|target| {
            !self.dropped.contains(target) && !self.dropped_in_turn.contains(target)
        })
    }
}

/// The position of an attempt in a turn that begins `shift` positions further than the first.
pub(super) fn position(shift: u32, attempt: u32) -> usize {
    let position = u64::from(shift) + u64::from(attempt.saturating_sub(1));
    usize::try_from(position).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        (dropped, in_turn): (&[usize], &[usize]),
        held: &[(usize, u64)],
        targets: usize,
        shift: u32,
    ) -> Vec<usize> {
        let dropped = dropped.iter().copied().collect();
        let dropped_in_turn = in_turn.iter().copied().collect();
        let mut holds = Holds::default();
        for (target, ms) in held {
            holds.begin(*target, 0, Some(*ms), "r-1");
        }
        let lineup = Lineup {
            dropped: &dropped,
            dropped_in_turn: &dropped_in_turn,
            holds: &holds,
            now_ms: 10,
            targets,
        };
        (1..=5)
            .map(|attempt| lineup.at(position(shift, attempt)))
            .collect()
    }

    #[test]
    fn attempts_go_round_from_where_the_turn_begins_and_past_what_is_dropped() {
        let order = |dropped: &[usize], targets, shift| check((dropped, &[]), &[], targets, shift);
        assert_eq!(order(&[], 2, 0), [0, 1, 0, 1, 0]);
        assert_eq!(order(&[], 3, 2), [2, 0, 1, 2, 0]);
        assert_eq!(order(&[1], 3, 0), [0, 2, 2, 0, 2]);
        assert_eq!(order(&[0, 2], 3, 1), [1, 1, 1, 1, 1]);
        assert_eq!(order(&[], 0, 4), [0; 5]);
        assert_eq!(order(&[0, 1], 2, 0), [0, 1, 0, 1, 0]);
        assert_eq!(check((&[0], &[2]), &[], 3, 0), [1; 5]);
    }

    #[test]
    fn a_target_on_hold_is_passed_and_the_earliest_is_waited_for() {
        let none: (&[usize], &[usize]) = (&[], &[]);
        assert_eq!(check(none, &[(0, 50)], 2, 0), [1; 5]);
        assert_eq!(check(none, &[(0, 10)], 2, 0), [0, 1, 0, 1, 0]);
        assert_eq!(check(none, &[(0, 50), (1, 40)], 2, 0), [1; 5]);
        assert_eq!(check(none, &[(0, 40), (1, 40)], 2, 0), [0, 1, 0, 1, 0]);
        assert_eq!(check((&[1], &[]), &[(0, 50), (1, 40)], 2, 0), [0; 5]);
    }
}
