//! What `run`, `resume`, `replay` and `show` do where the run is a workflow.
//!
//! Knows what a step runs under and how its end is read, and how a workflow is shown; not what follows from a step's end.

mod drive;
mod ended;
mod graph;
mod host;
mod reasons;
mod recorded;
mod shown;

pub(in crate::cli) use self::drive::{WorkflowJob, fork_workflow, resume_workflow, run_workflow};
pub(in crate::cli) use self::recorded::replay_workflow;
pub(in crate::cli) use self::shown::{WorkflowForm, show_workflow};
