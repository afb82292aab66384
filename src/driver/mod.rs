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
mod redaction;
mod redaction_key;
mod reissue;
mod resume;
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
mod tests_time;

pub use ancestry::{answered_before, played_from_the_first};
pub use bring_up::{Prepared, RunRequest, prepare, random_run_id};
pub use drive::{Control, Finished, Observer, drive};
pub use environment::Environment;
pub use error::DriverError;
pub use fork::prepare_fork;
pub use key_files::{KeyFileError, KeyFolder};
pub use local_models::embedded_model;
pub use preview::{Preview, ServersToStart, preview, preview_recorded};
pub use redaction::{RedactionKey, Redactor, Salt, Secrets, Unmatched};
pub use reissue::{Recording, reissue};
pub use resume::{Reopened, prepare_resume, reopen};
