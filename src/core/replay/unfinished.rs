//! The state of a run without an end, after replay. Plain data.

use crate::message::Digest;
use crate::session::Session;

/// The state of a run without an end, after a fresh machine has decided every entry again as recorded.
pub struct Unfinished {
    /// How many requests each target has answered, in the contract's order; lost ones are not counted.
    pub answered: Vec<usize>,
    /// The last recorded moment, in milliseconds since the run began.
    pub at_ms: u64,
    /// The hash of the last entry.
    pub head: Digest,
    /// The run, to be driven on.
    pub session: Session,
}
