//! `monolith model`: embedded models.

mod args;
mod prove;
mod pull;
mod render;
mod run;
mod tally;

pub(crate) use self::args::{ModelCommand, PullArgs};
pub(crate) use self::pull::{Pulled, pull};
pub(crate) use self::run::model;
