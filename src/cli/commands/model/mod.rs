//! `monolith model`: embedded models.

mod args;
mod pull;
mod run;

pub(in crate::cli) use self::args::{ModelCommand, PullArgs};
pub(in crate::cli) use self::pull::{Pulled, pull};
pub(in crate::cli) use self::run::model;
