//! `monolith completions`: what a shell offers behind the Tab key.

mod args;
mod run;

pub(in crate::cli) use self::args::CompletionsArgs;
pub(in crate::cli) use self::run::completions;
