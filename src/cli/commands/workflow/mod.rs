//! The workflow parts of `run`, `resume`, `replay` and `show`.
//!
//! Knows what a step runs under and how its end is read, and how a workflow is shown; not what follows from a step's end.

mod drive;
mod graph;
mod reasons;
mod shown;

pub(crate) use self::drive::{
    WorkflowJob, fork_workflow, keep_steps, resume_workflow, run_workflow,
};
pub(crate) use self::shown::{WorkflowForm, replay_item, replay_workflow, show_workflow};
