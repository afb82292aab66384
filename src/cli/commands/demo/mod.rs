//! `monolith demo`: a scripted model, real tool calls, a real transcript.

mod args;
mod render;
mod run;
mod tamper;

pub(in crate::cli) use self::args::DemoArgs;
pub(in crate::cli) use self::run::demo;
