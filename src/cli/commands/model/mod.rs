//! `monolith model`: embedded models.

mod args;
mod prove;
mod pull;
mod render;
mod run;
mod tally;

pub(in crate::cli) use self::args::{ModelCommand, PullArgs};
pub(in crate::cli) use self::pull::{Pulled, pull};
pub(in crate::cli) use self::run::model;
