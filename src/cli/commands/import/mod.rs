//! `monolith import`: transcript files into the store.

mod args;
mod run;

pub(crate) use self::args::ImportArgs;
pub(crate) use self::run::import;
