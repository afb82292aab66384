//! Nonces and slot ids of the XML transport. Knows their form; does not know what a model puts into a slot.

use std::fmt;

use crate::message::Digest;

pub(super) const FINAL: &str = "FINAL";
pub(super) const PROGRESS: &str = "PROGRESS";

/// What the tags of one session share and nothing else has: 8 lower-case hex digits, the same in every turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce of the run whose chain begins with that hash: its first 8 digits.
    #[must_use]
    pub fn of(genesis: &Digest) -> Self {
        Self(genesis.short(8))
    }

    /// The id of a numbered slot, such as `0a1b2c3d-0001`.
    #[must_use]
    pub(crate) fn slot(&self, number: u32) -> String {
        format!("{self}-{}", numbered(number))
    }

    /// The id of the final report's slot, such as `0a1b2c3d-FINAL`.
    #[must_use]
    pub(crate) fn final_slot(&self) -> String {
        format!("{self}-{FINAL}")
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A slot's number as tags have it: four digits, more where it needs them.
pub(super) fn numbered(number: u32) -> String {
    format!("{number:04}")
}

/// The numbered slots that one turn offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    /// How many there are.
    pub count: u32,
    /// The number of the first one.
    pub first: u32,
}

impl SlotRange {
    /// The slots of a session's first turn.
    #[cfg(test)]
    pub(crate) const fn first_turn(count: u32) -> Self {
        Self { count, first: 1 }
    }

    /// The slots of the turn after this one: numbers are never used again.
    #[cfg(test)]
    pub(crate) const fn next_turn(self, count: u32) -> Self {
        Self {
            count,
            first: self.first.saturating_add(self.count),
        }
    }

    /// The numbers, in order.
    #[must_use]
    pub(crate) fn numbers(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }
}

/// Which tags a turn reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlTerms {
    /// The session's nonce.
    pub nonce: Nonce,
    /// Whether progress has a tag: in mode `xml`, not in `xml-final`.
    pub progress: bool,
    /// The slots of calls; none in mode `xml-final` and in a closing turn.
    pub slots: SlotRange,
}
