//! What `run`, `resume`, `replay` and `show` do where the run is a workflow.
//!
//! Knows what a step runs under and how its end is read, and how a workflow is shown; not what follows from a step's end.

mod among_many;
mod drive;
mod graph;
mod reasons;
mod recorded;
mod shown;

pub(crate) use self::among_many::{ListedWorkflow, workflow_among_many};
pub(crate) use self::drive::{WorkflowJob, fork_workflow, resume_workflow, run_workflow};
pub(crate) use self::recorded::{recorded_result, replay_workflow};
pub(crate) use self::shown::{WorkflowForm, show_workflow};
