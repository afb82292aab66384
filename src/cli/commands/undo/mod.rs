//! `monolith undo`: gives the files that a run changed back what they held before.

mod args;
mod run;

pub(in crate::cli) use self::args::UndoArgs;
pub(in crate::cli) use self::run::undo;
