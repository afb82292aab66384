//! `monolith profile`: what is known of families of models.

mod args;
mod run;

pub(in crate::cli) use self::args::ProfileCommand;
pub(in crate::cli) use self::run::profile;
