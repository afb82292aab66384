//! `monolith profile`: what is known of families of models.

mod args;
mod run;

pub(crate) use self::args::ProfileCommand;
pub(crate) use self::run::profile;
