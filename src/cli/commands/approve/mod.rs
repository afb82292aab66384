//! `monolith approve`: a person allows or refuses the call that a run waits with.

mod args;
mod run;

pub(in crate::cli) use self::args::ApproveArgs;
pub(in crate::cli) use self::run::approve;
