//! `monolith migrate`: the store of an older build in the newest format.

mod args;
mod render;
mod run;

pub(in crate::cli) use self::args::MigrateArgs;
pub(in crate::cli) use self::run::migrate;
