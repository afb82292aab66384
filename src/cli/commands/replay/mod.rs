//! `monolith replay`: a recorded run decided again, under another contract, live, or on from one of its entries.

mod args;
mod fork;
mod live;
mod recorded;
mod render;
mod run;

pub(crate) use self::args::ReplayArgs;
pub(crate) use self::render::report_text;
pub(crate) use self::run::replay;
