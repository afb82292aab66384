//! `monolith demo`: a scripted model, real tool calls, a real transcript.

mod args;
mod render;
mod run;
mod tamper;

pub(crate) use self::args::DemoArgs;
pub(crate) use self::run::demo;
