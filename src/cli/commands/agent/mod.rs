//! `monolith agent`: registers agents, shows them, and selects one for a task.

mod args;
mod render;
mod run;

pub(in crate::cli) use self::args::AgentCommand;
pub(in crate::cli) use self::run::{agent, note_left_out};
