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

pub(crate) use self::fleet::Fleet;
pub(crate) use self::limits::LimitArgs;
pub(crate) use self::lines::Lines;
pub(crate) use self::new_run::NewRuns;
pub(crate) use self::recorded_run::RecordedRuns;
pub(crate) use self::terms::Terms;
