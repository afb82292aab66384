//! Which targets a run may still ask, and in which order (semantics §4).

use std::collections::BTreeSet;

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
