//! The cycle of targets that a wait is for (semantics §4). It counts targets, not attempts: where one was dropped, or a turn begins
//! further on, an attempt may ask the target of the attempt before it again. Knows no clock and no turn.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::lineup::Lineup;

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
