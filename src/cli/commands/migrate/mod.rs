//! `monolith migrate`: the store of an older build in the newest format.

mod args;
mod render;
mod run;

pub(crate) use self::args::MigrateArgs;
pub(crate) use self::run::migrate;
