//! `monolith undo`: gives the files that built-in tools of a run changed back what they held before.

mod args;
mod run;

pub(crate) use self::args::UndoArgs;
pub(crate) use self::run::undo;
