//! `monolith chat`: a conversation on the terminal, of which every message is a run.

mod prompt;
mod render;
mod run;

pub(crate) use self::run::{ChatArgs, chat};
