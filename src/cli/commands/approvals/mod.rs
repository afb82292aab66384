//! `monolith approvals`: the calls of all runs of the store that wait for a person.

mod args;
mod render;
mod run;
mod waiting;

pub(in crate::cli) use self::args::ApprovalsArgs;
pub(in crate::cli) use self::run::approvals;
