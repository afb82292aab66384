//! `monolith log`: the log of runs.

mod args;
mod check;
mod render;
mod run;

pub(crate) use self::args::LogCommand;
pub(crate) use self::run::log;
