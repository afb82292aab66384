//! `monolith import`: transcript files into the store.

mod args;
mod run;

pub(in crate::cli) use self::args::ImportArgs;
pub(in crate::cli) use self::run::import;
