//! `monolith init`: a contract that works with what this machine has.

mod args;
mod render;
mod run;

pub(in crate::cli) use self::args::InitArgs;
pub(in crate::cli) use self::run::init;
