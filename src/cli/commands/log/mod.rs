//! `monolith log`: the log of runs.

mod args;
mod check;
mod render;
mod run;

pub(in crate::cli) use self::args::LogCommand;
pub(in crate::cli) use self::run::log;
