//! `monolith continue`: a new run that begins with the conversation of an ended one.

mod args;
mod run;

pub(in crate::cli) use self::args::ContinueArgs;
pub(in crate::cli) use self::run::{Next, continue_run, drive_next};
