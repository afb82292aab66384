//! What `run --contracts` and `resume --all` have in common: many runs in one process, and one result line for each.
//!
//! Knows how a run of a list is begun or gone on with, watched, interrupted and reported. It drives none itself: that is the driver's `Runner`.

mod ends;
mod fleet;
mod limits;
mod line;
mod lines;
mod new_run;
mod not_begun;
mod one_run;
mod recorded_run;
mod repeated;
mod results;
mod run_result;
mod terms;
mod workflow_run;

pub(in crate::cli) use self::fleet::Fleet;
pub(in crate::cli) use self::limits::LimitArgs;
pub(in crate::cli) use self::lines::Lines;
pub(in crate::cli) use self::new_run::NewRuns;
pub(in crate::cli) use self::recorded_run::RecordedRuns;
pub(in crate::cli) use self::terms::Terms;
