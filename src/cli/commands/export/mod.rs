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

pub(crate) use self::args::ExportArgs;
pub(crate) use self::forms::write_to;
pub(crate) use self::run::export;
