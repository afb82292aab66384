//! The shared parts of the commands that drive a run: `run`, `continue`, `chat`, `resume`, `demo` and `replay --fork-at`.
//!
//! Knows how a run is prepared, watched, interrupted and reported; not which command asked for it.

mod approval;
mod awaited;
mod input;
mod job;
mod kept;
mod leaving;
mod not_begun;
mod offer;
mod question;
mod recording;
mod report;
mod watched;

pub(crate) use self::approval::agreed;
pub(crate) use self::input::{
    NamedContract, RunInput, argument, is_piped_task, leaves_piped_input, piped_task, task_of,
};
pub(crate) use self::job::{drive_job, drive_to_the_end};
pub(crate) use self::kept::{keep, keep_step, keepable, unkeepable};
pub(crate) use self::leaving::LeavingArgs;
pub(crate) use self::not_begun::print_result;
pub(crate) use self::offer::offer_models;
pub(crate) use self::question::shown;
pub(crate) use self::recording::RecordingArgs;
pub(crate) use self::report::{
    held_back, report, report_end, report_message, unwritten, with_withheld,
};
pub(crate) use self::watched::Watched;
