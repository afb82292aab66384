//! The driver: does what the machine says, and tells it what happened. One task per run, one loop, no decisions.
//!
//! Knows bring-up (spec → tool servers, scripts, keys → manifest → contract), the clock, ids, signing keys, redaction, cancellation, and how
//! each effect is performed. It deliberately does not know why an effect was issued or what follows from an event: that is the
//! machine's. Entries are durable before anything that comes after them in the machine's answer is begun.
//!
//! ```text
//!    RunRequest ─▶ prepare ────────┬─▶ Prepared ─▶ drive ─▶ Finished
//!  ForkPoint ─▶ prepare_fork ──────┤
//! RunId ─▶ reopen ─▶ prepare_resume ┘
//!                              ┌─ Append ─▶ seal ─▶ store (durable) ─▶ observer
//!            Run::step ─▶ effects ─ Infer / Execute / Probe ─▶ tasks ─┐
//!                ▲                                                    │
//!                └── Event ◀── deadline │ Control │ task answers ◀────┘
//! ```

mod ancestry;
mod backends;
mod bring_up;
mod clock;
mod drive;
mod environment;
mod error;
mod fork;
mod guard;
mod key_files;
mod local_models;
mod perform;
mod preview;
mod queues;
mod recorder;
mod redaction_key;
mod reissue;
mod resume;
mod secrets;
mod tasks;
#[cfg(test)]
mod tests;
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
mod tokenizers;

pub(crate) use ancestry::{answered_before, played_from_the_first};
pub(crate) use bring_up::{Prepared, random_run_id};
pub use bring_up::{RunRequest, prepare};
pub(crate) use drive::Finished;
pub use drive::{Observer, drive};
pub use environment::Environment;
pub use error::DriverError;
pub(crate) use fork::prepare_fork;
pub(crate) use key_files::{KeyFileError, KeyFolder};
pub(crate) use local_models::embedded_model;
pub(crate) use preview::{Preview, ServersToStart, preview, preview_recorded};
pub(crate) use reissue::{Recording, reissue};
pub(crate) use resume::{prepare_resume, reopen};
pub(crate) use secrets::{Secrets, Unmatched};
