//! `monolith show`: what happened in a run, for people and for programs.

mod args;
mod conversation;
mod diff;
#[cfg(test)]
mod display_tests;
mod files;
mod follow;
mod reasons;
mod render;
mod run;
mod servers;
mod tree;

pub(crate) use self::args::ShowArgs;
pub(crate) use self::run::show;
