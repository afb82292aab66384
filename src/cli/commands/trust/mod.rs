//! `monolith trust`: the contracts that may start commands though they were found and not named.

mod args;
mod run;

pub(in crate::cli) use self::args::TrustArgs;
pub(in crate::cli) use self::run::trust;
