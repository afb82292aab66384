//! Checks of a transcript and a tree of runs against the record.

mod decided;
mod difference;
mod pin_file;
mod recorded_agent;
mod recorded_call;
mod recorded_result;
mod recorded_step;
pub mod report;
pub mod tree;
