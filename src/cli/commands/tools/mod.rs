//! `monolith tools`: the tools that a contract has.

mod args;
mod run;

pub(in crate::cli) use self::args::ToolsArgs;
pub(in crate::cli) use self::run::tools;
