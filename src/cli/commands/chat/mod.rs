//! `monolith chat`: a conversation on the terminal, of which every message is a run.

mod args;
mod prompt;
mod render;
mod run;
mod turn;
mod used;
mod wish;

pub(crate) use self::args::ChatArgs;
pub(crate) use self::run::chat;
