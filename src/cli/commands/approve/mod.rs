//! `monolith approve` and `monolith deny`: a person allows or refuses the call that a run waits with.

mod answer;
mod args;
mod run;

pub(in crate::cli) use self::args::{ApproveArgs, DenyArgs};
pub(in crate::cli) use self::run::approve;
