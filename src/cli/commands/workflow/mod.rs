//! What `run`, `resume`, `replay` and `show` do where the run is a workflow.
//!
//! Knows what a step runs under and how its end is read, and how a workflow is shown; not what follows from a step's end.

mod among_many;
mod check;
mod drive;
mod ended;
mod graph;
mod host;
mod options;
mod ready;
mod reasons;
mod recorded;
mod shown;
mod step_files;
mod step_result;
mod tool_result;
mod usage;
mod waiting;

pub(crate) use self::among_many::{ListedWorkflow, workflow_among_many};
pub(crate) use self::check::{CheckedStep, StepContract, checked_steps, step_contracts};
pub(crate) use self::drive::{WorkflowJob, fork_workflow, resume_workflow, run_workflow};
pub(crate) use self::ended::WorkflowResult;
pub(crate) use self::options::{as_written, refuse_options};
pub(crate) use self::recorded::{recorded_result, replay_workflow};
pub(crate) use self::shown::{WorkflowForm, show_workflow};
pub(crate) use self::step_result::step_run;
pub(crate) use self::tool_result::ERASED;
