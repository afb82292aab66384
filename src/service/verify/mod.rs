//! A transcript and a tree of runs, held against what is recorded.

mod decided;
mod difference;
mod pin_file;
mod recorded_call;
mod recorded_result;
mod recorded_step;
pub mod report;
pub mod tree;
