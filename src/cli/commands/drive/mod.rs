//! What the commands have in common that drive a run: `run`, `continue`, `chat`, `resume`, `demo` and `replay --fork-at`.
//!
//! Knows how a run is prepared, watched, interrupted and reported; not which command asked for it.

mod accounts;
mod approval;
mod approvers;
mod awaited;
mod cursor;
mod ended;
mod file_of_run;
mod input;
mod job;
mod kept;
mod leaving;
mod live;
mod lost_calls;
mod not_begun;
mod offer;
mod overwritten;
mod own_file;
mod question;
mod recording;
mod report;
mod snapshots;
mod typed_at;
mod unanswered;
mod unproven;
mod way_out;

pub(crate) use self::accounts::Accounts;
pub(crate) use self::approval::agreed;
pub(crate) use self::approvers::{Approvers, LOOK_EVERY};
pub(crate) use self::ended::{Broken, Ended};
pub(crate) use self::input::{
    NamedContract, RunInput, argument, is_piped_task, leaves_piped_input, piped_task, task_of,
};
pub(crate) use self::job::{Job, broken_run, drive_job, drive_to_the_end, finished_run};
pub(crate) use self::kept::{keep, keep_step, keepable, unkeepable};
pub(crate) use self::leaving::LeavingArgs;
pub(crate) use self::live::Live;
pub(crate) use self::lost_calls::{LostCalls, resume_notes_below};
pub(crate) use self::not_begun::print_result;
pub(crate) use self::offer::offer_models;
pub(crate) use self::overwritten::overwritten;
pub(crate) use self::question::shown;
pub(crate) use self::recording::RecordingArgs;
pub(crate) use self::report::{held_back, report, report_end, report_message, with_withheld};
pub(crate) use self::typed_at::TypedAt;
pub(crate) use self::unanswered::{answering, approve_hint, waits_unanswered};
pub(crate) use self::unproven::proof_rule;
pub(crate) use self::way_out::way_out;
