//! `monolith undo`: gives the files that built-in tools of a run changed back what they held before.

mod args;
mod run;

pub(in crate::cli) use self::args::UndoArgs;
pub(in crate::cli) use self::run::undo;
