//! A built-in's own failure. Plain data.

/// A built-in's own failure: an error envelope, never a fault of the run.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) message: String,
}
