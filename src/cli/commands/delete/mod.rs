//! `monolith delete` and `monolith prune`: runs that go for good.

mod args;
mod run;

pub(crate) use self::args::{DeleteArgs, PruneArgs};
pub(crate) use self::run::{delete, prune};
