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

pub(in crate::cli) use self::accounts::Accounts;
pub(in crate::cli) use self::approval::agreed;
pub(in crate::cli) use self::approvers::{Approvers, LOOK_EVERY};
pub(in crate::cli) use self::ended::{Broken, Ended};
pub(in crate::cli) use self::input::{
    NamedContract, RunInput, argument, is_piped_task, leaves_piped_input, piped_task, task_of,
};
pub(in crate::cli) use self::job::{Job, broken_run, drive_job, drive_to_the_end, finished_run};
pub(in crate::cli) use self::kept::{keep, keep_step, keepable, unkeepable};
pub(in crate::cli) use self::leaving::LeavingArgs;
pub(in crate::cli) use self::live::Live;
pub(in crate::cli) use self::lost_calls::{LostCalls, resume_notes_below};
pub(in crate::cli) use self::not_begun::print_result;
pub(in crate::cli) use self::offer::offer_models;
pub(in crate::cli) use self::overwritten::overwritten;
pub(in crate::cli) use self::question::shown;
pub(in crate::cli) use self::recording::RecordingArgs;
pub(in crate::cli) use self::report::{
    held_back, report, report_end, report_message, with_withheld,
};
pub(in crate::cli) use self::typed_at::TypedAt;
pub(in crate::cli) use self::unanswered::{answering, approve_hint, waits_unanswered};
pub(in crate::cli) use self::unproven::proof_rule;
pub(in crate::cli) use self::way_out::way_out;
