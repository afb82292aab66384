//! `monolith config`: the layers of configuration.

mod args;
mod run;

pub(crate) use self::args::ConfigCommand;
pub(crate) use self::run::config;
