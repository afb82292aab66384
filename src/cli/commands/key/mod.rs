//! `monolith key`: the keys that sign checkpoints.

mod args;
mod run;

pub(in crate::cli) use self::args::KeyCommand;
pub(in crate::cli) use self::run::key;
