//! `monolith export`: a run as a file.

mod args;
#[cfg(test)]
mod form_tests;
mod forms;
mod html;
mod judged;
mod one;
mod run;
mod tree;

pub(in crate::cli) use self::args::ExportArgs;
pub(in crate::cli) use self::forms::write_to;
pub(in crate::cli) use self::run::export;
