//! A flaw together with the check that found it. Plain data.

use crate::transcript::{Flaw, Location};

/// The verdict on one record.
pub(super) type Verdict = Result<(), Box<Finding>>;

/// A flaw, the check that found it, and where it is if not at the record in hand.
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) flaw: Flaw,
    pub(super) location: Option<Location>,
    pub(super) seq: Option<u64>,
}

impl Finding {
    pub(super) fn new(check: &'static str, flaw: Flaw) -> Box<Self> {
        Box::new(Self {
            check,
            flaw,
            location: None,
            seq: None,
        })
    }

    pub(super) fn at(mut self: Box<Self>, location: Location) -> Box<Self> {
        self.location = Some(location);
        self
    }

    pub(super) fn seq(mut self: Box<Self>, seq: u64) -> Box<Self> {
        self.seq = Some(seq);
        self
    }
}
