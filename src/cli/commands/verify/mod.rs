//! `monolith verify`: a transcript held against its hashes, its seal and what is trusted.

mod args;
mod render;
mod run;

pub(crate) use self::args::VerifyArgs;
pub(crate) use self::render::HOW_TO_ACCEPT;
pub(crate) use self::render::checks;
pub(crate) use self::render::place;
pub(crate) use self::render::report_text;
pub(crate) use self::run::{report_of, verify};
