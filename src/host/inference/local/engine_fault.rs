//! Why an answer of the embedded engine failed. Plain data.

/// Why an answer did not come about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EngineFault {
    /// The caller is gone.
    Cancelled,
    /// The prompt does not fit.
    Overflow(String),
    /// The engine or the gate failed.
    Failed(String),
}
