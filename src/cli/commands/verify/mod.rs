//! `monolith verify`: a transcript held against its hashes, its seal and what is trusted.

mod args;
mod decided;
mod difference;
mod pin_file;
mod recorded_call;
mod recorded_result;
mod recorded_step;
mod render;
mod run;
mod tree;

pub(in crate::cli) use self::args::VerifyArgs;
pub(in crate::cli) use self::render::HOW_TO_ACCEPT;
pub(in crate::cli) use self::render::checks;
pub(in crate::cli) use self::render::place;
pub(in crate::cli) use self::render::report_text;
pub(in crate::cli) use self::run::{report_of, verify};
