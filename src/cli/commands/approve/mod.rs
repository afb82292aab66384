//! `monolith approve` and `monolith deny`: a person allows or refuses the call that a run waits with.

mod answer;
mod args;
mod run;

pub(crate) use self::args::{ApproveArgs, DenyArgs};
pub(crate) use self::run::approve;
