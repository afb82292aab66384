//! `monolith corpus`: conformance cases and what they cover, recorded responses, and a live endpoint held against them.

mod adapters;
mod args;
mod coverage;
mod live;
mod render;
mod run;

pub(crate) use self::args::CorpusCommand;
pub(crate) use self::run::corpus;
