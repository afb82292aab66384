//! Workflows: checked, begun, driven and read back.

pub mod check;
pub mod drive;
pub mod ended;
mod host;
pub mod ready;
pub mod recorded;
pub mod step_files;
pub mod step_result;
pub mod tool_result;
pub mod waiting;
