//! `monolith replay`: a recorded run decided again, under another contract, live, or on from one of its entries.

mod args;
mod fork;
mod live;
mod recorded;
mod render;
mod run;
mod what_if;

pub(in crate::cli) use self::args::ReplayArgs;
pub(in crate::cli) use self::fork::fork_point;
pub(in crate::cli) use self::render::report_text;
pub(in crate::cli) use self::run::replay;
