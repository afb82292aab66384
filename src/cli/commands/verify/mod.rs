//! `monolith verify`: a transcript held against its hashes, its seal and what is trusted.

mod args;
mod pin_file;
mod run;

pub(in crate::cli) use self::args::VerifyArgs;
pub(in crate::cli) use self::run::{HOW_TO_ACCEPT, checks, place, report_of, told, verify};
