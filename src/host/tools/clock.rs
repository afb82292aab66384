//! The trait of the clock that stamps results. Has no clock itself.

/// The driver's clock, lent to a call.
pub(crate) trait Clock: Send + Sync {
    /// Milliseconds since the run began, as events count them.
    fn run_ms(&self) -> u64;

    /// Wall-clock time in milliseconds since 1970-01-01 UTC: what the tool `clock` answers.
    fn unix_ms(&self) -> u64;
}
