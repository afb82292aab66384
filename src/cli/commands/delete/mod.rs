//! `monolith delete` and `monolith prune`: runs that go for good.

mod args;
mod needed;
mod run;

pub(in crate::cli) use self::args::{DeleteArgs, PruneArgs};
pub(in crate::cli) use self::run::{delete, prune};
