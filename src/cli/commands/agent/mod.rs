//! `monolith agent`: registers agents, shows them, and selects one for a task.

mod args;
mod render;
mod run;

pub(crate) use self::args::AgentCommand;
pub(crate) use self::run::{agent, note_left_out};
