//! `monolith completions`: what a shell offers behind the Tab key.

mod args;
mod run;

pub(crate) use self::args::CompletionsArgs;
pub(crate) use self::run::completions;
