//! `monolith chat`: a conversation on the terminal, of which every message is a run.

mod args;
mod prompt;
mod render;
mod run;
mod turn;
mod used;
mod wish;

pub(in crate::cli) use self::args::ChatArgs;
pub(in crate::cli) use self::run::chat;
