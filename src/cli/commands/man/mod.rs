//! `monolith man`: the manual pages.

mod args;
mod run;

pub(in crate::cli) use self::args::ManArgs;
pub(in crate::cli) use self::run::man;
