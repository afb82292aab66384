//! Counts of what came first in trials of a model. Does not ask the model.

use serde::Serialize;

/// Counts of each first output.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    /// A call that fits its tool's schema, with no byte before it.
    pub(super) valid: u64,
    /// Text before any call.
    pub(super) free_text: u64,
    /// A call that is none, or does not fit.
    pub(super) invalid: u64,
    /// No answer.
    pub(super) failed: u64,
    /// The first that was not valid, in words.
    pub(super) first_other: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Document {
    pub(super) seeds: u64,
    pub(super) temperature: f64,
    pub(super) gate: Tally,
    pub(super) no_gate: Tally,
}
