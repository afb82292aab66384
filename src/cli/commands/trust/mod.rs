//! `monolith trust`: the contracts that may start commands though they were found and not named.

mod args;
mod run;

pub(crate) use self::args::TrustArgs;
pub(crate) use self::run::trust;
