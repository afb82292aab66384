//! `monolith list`: the runs of the store.

mod args;
mod filter;
mod render;
mod run;
mod tree;

pub(crate) use self::args::ListArgs;
pub(crate) use self::render::forked_from;
pub(crate) use self::run::{list, name_damaged};
