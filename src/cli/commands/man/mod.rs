//! `monolith man`: the manual pages.

mod args;
mod run;

pub(crate) use self::args::ManArgs;
pub(crate) use self::run::man;
