//! The driver: does what the machine says, and tells it what happened. One task per run, one loop, no decisions.
//!
//! Knows bring-up (a file → tool servers, scripts, keys → contract), the clock, ids, signing keys, redaction, cancellation, and how
//! each effect is performed. It deliberately does not know why an effect was issued or what follows from an event: that is the
//! machine's. Entries are durable before anything that comes after them in the machine's answer is begun.
//!
//! ```text
//!        RunRequest ─▶ prepare ───────┐
//!       ForkPoint ─▶ prepare_fork ────┼─▶ Prepared ─▶ drive ─▶ Finished
//! RunId ─▶ reopen ─▶ prepare_resume ──┘
//!                              ┌─ Append ─▶ seal ─▶ store (durable) ─▶ observer
//!            Run::step ─▶ effects ─ Infer / Execute / Probe ─▶ tasks ─┐
//!                ▲                                                    │
//!                └── Event ◀── deadline │ Control │ task answers ◀────┘
//!
//!        RunRequest ─▶ preview ─▶ Preview (a contract without a run)
//! Recording, RunRequest ─▶ reissue ─▶ LiveReport (recorded requests and calls, made again)
//! ```

mod ancestry;
mod bring_up;
mod clock;
mod drive;
mod environment;
mod error;
mod key_files;
mod perform;
mod queues;
mod recorder;
mod redaction_key;
mod reissue;
mod secrets;
mod tasks;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_bring_up;
#[cfg(test)]
mod tests_local;
#[cfg(test)]
mod tests_protocols;
#[cfg(test)]
mod tests_resume;
#[cfg(test)]
mod tests_summary;
#[cfg(test)]
mod tests_time;
#[cfg(test)]
mod tests_tokenizers;

pub(crate) use ancestry::{answered_before, played_from_the_first};
pub use bring_up::{Prepared, RunRequest, prepare};
pub(crate) use bring_up::{
    Preview, ServersToStart, embedded_model, prepare_fork, prepare_resume, preview,
    preview_recorded, random_run_id, reopen,
};

pub use drive::{Finished, Observer, drive};
pub use environment::Environment;
pub use error::DriverError;
pub(crate) use key_files::{KeyFileError, KeyFolder};
pub(crate) use reissue::{Recording, reissue};
pub(crate) use secrets::{Secrets, Unmatched};
