//! The limits that every definition of a workflow keeps. Judges nothing.

/// The most steps that a definition holds, those in others and the compensations included.
pub(super) const MOST_STEPS: usize = 256;
/// How deeply steps may stand in steps.
pub(super) const MOST_LEVELS: usize = 8;
