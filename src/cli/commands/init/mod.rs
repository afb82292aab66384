//! `monolith init`: a contract that works with what this machine has.

mod args;
mod render;
mod run;

pub(crate) use self::args::InitArgs;
pub(crate) use self::run::init;
