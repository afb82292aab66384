//! `monolith approvals`: the calls of all runs of the store that wait for a person.

mod args;
mod render;
mod run;
mod waiting;

pub(crate) use self::args::ApprovalsArgs;
pub(crate) use self::run::approvals;
