//! `monolith config`: the layers of configuration.

mod args;
mod run;

pub(in crate::cli) use self::args::ConfigCommand;
pub(in crate::cli) use self::run::config;
