//! `monolith list`: the runs of the store.

mod args;
mod filter;
mod run;

pub(in crate::cli) use self::args::ListArgs;
pub(in crate::cli) use self::run::{forked_from, list, name_damaged};
