//! What the commands have in common that drive a run: `run`, `continue`, `chat`, `resume`, `demo` and `replay --fork-at`.
//!
//! Knows how a run is prepared, watched, interrupted and reported; not which command asked for it.

mod approval;
mod approvers;
mod awaited;
mod cursor;
mod ended;
pub(crate) mod input;
mod job;
mod kept;
mod leaving;
mod live;
mod not_begun;
mod offer;
mod question;
mod recording;
mod report;
mod unanswered;

pub(crate) use self::approval::agreed;
pub(crate) use self::approvers::{Approvers, LOOK_EVERY};
pub(crate) use self::ended::{Broken, Ended};
pub(crate) use self::job::{Job, broken_run, drive_job, drive_to_the_end, finished_run};
pub(crate) use self::kept::{keep, keep_step, keepable, unkeepable};
pub(crate) use self::leaving::LeavingArgs;
pub(crate) use self::live::Live;
pub(crate) use self::not_begun::print_result;
pub(crate) use self::offer::offer_models;
pub(crate) use self::question::shown;
pub(crate) use self::recording::RecordingArgs;
pub(crate) use self::report::{held_back, report, report_end, report_message, with_withheld};
pub(crate) use self::unanswered::{approve_hint, waits_unanswered};
