//! `monolith continue`: a new run that begins with the conversation of an ended one.

mod args;
mod run;

pub(crate) use self::args::ContinueArgs;
pub(crate) use self::run::{Next, continue_run, drive_next};
