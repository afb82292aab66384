//! `monolith tools`: the tools that a contract has.

mod args;
mod run;

pub(crate) use self::args::ToolsArgs;
pub(crate) use self::run::tools;
