//! `monolith list`: the runs of the store.

mod args;
mod filter;
mod found;
mod held;
mod render;
mod run;
mod tree;

pub(in crate::cli) use self::args::ListArgs;
pub(in crate::cli) use self::found::waiting_runs;
pub(in crate::cli) use self::render::forked_from;
pub(in crate::cli) use self::run::{list, name_damaged};
