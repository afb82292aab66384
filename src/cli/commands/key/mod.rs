//! `monolith key`: the keys that sign checkpoints.

mod args;
mod run;

pub(crate) use self::args::KeyCommand;
pub(crate) use self::run::key;
