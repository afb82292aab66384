//! `monolith run`: a contract and a task, to the end of the run.

mod args;
mod front;
#[expect(clippy::module_inception, reason = "what every command calls so")]
mod run;

pub(in crate::cli) use self::args::RunArgs;
pub(in crate::cli) use self::front::FrontArgs;
pub(in crate::cli) use self::run::run;
