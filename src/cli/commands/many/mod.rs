//! Shared by `run --contracts` and `resume --all`: the results of many runs on the screen, with signals and progress.
//!
//! Knows how many runs are interrupted and reported. The service drives them.

mod fleet;
mod results;
mod run_result;

pub(crate) use self::fleet::{LimitArgs, drive};
