//! `monolith list`: the runs of the store.

mod render;
mod run;

pub(crate) use self::render::forked_from;
pub(crate) use self::run::{ListArgs, list, name_damaged};
