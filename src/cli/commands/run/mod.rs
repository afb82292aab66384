//! `monolith run`: a contract and a task, to the end of the run.

mod args;
mod front;
#[expect(clippy::module_inception, reason = "what every command calls so")]
mod run;

pub(crate) use self::args::RunArgs;
pub(crate) use self::front::FrontArgs;
pub(crate) use self::run::run;
