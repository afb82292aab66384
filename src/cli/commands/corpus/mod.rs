//! `monolith corpus`: conformance cases and what they cover, recorded responses, and a live endpoint held against them.

mod adapters;
mod args;
mod coverage;
mod live;
mod render;
mod run;

pub(in crate::cli) use self::args::CorpusCommand;
pub(in crate::cli) use self::run::corpus;
