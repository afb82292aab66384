//! Many runs in one process: each in a task of its own, so many at once, and no more taken from their source than there are workers.
//!
//! Knows workers, what reaches all runs at once (stop, abort, suspend), and that a run is prepared and driven as a single one is. It
//! deliberately does not know where runs come from, nor what becomes of their ends: the caller hands in a source, and takes the ends.
//!
//! ```text
//! next() ─▶ Job ──▶ Worker: prepare ─▶ drive ──▶ end ─▶ each()
//!   only when a worker is free          ▲           the worker is free once the end was taken
//!                                  Control
//! ```

mod job;
mod limits;
mod live_runs;
#[expect(clippy::module_inception, reason = "what the module is about")]
mod runner;
mod worker;

pub use job::Job;
pub use limits::RunnerLimits;
pub use runner::Runner;
pub use worker::Worker;
