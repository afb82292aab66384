//! `monolith erase`: bytes that a run names are erased, and a signed tombstone stays.

mod args;
mod run;

pub(crate) use self::args::EraseArgs;
pub(crate) use self::run::erase;
