//! `monolith corpus`: conformance cases and their coverage, recorded responses, and tests of a live endpoint.

mod adapters;
mod args;
mod coverage;
mod live;
mod render;
mod run;

pub(crate) use self::args::CorpusCommand;
pub(crate) use self::run::corpus;
