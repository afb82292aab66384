//! `monolith erase`: bytes that a run names are erased, and a signed tombstone stays.

mod args;
mod run;

pub(in crate::cli) use self::args::EraseArgs;
pub(in crate::cli) use self::run::erase;
