//! A transcript and a tree of runs, held against what is recorded.

pub mod decided;
pub mod difference;
pub mod pin_file;
pub mod recorded_call;
pub mod recorded_result;
pub mod recorded_step;
pub mod tree;
