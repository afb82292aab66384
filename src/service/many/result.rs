//! The results of many runs, one for each input, and their summary: counts, one example of each kind of end, and the inputs that have
//! begun no run. Does not know when a result is shown.

use crate::exit::Exit;
use crate::text::escape::line;
use crate::workflow::ended::WorkflowResult;
use monolith_core::kernel::AgentOutcome;
use monolith_core::message::{Role, RunId};
use monolith_host::telemetry::{AgentResult, Listed};

/// The result of one input.
#[derive(Debug)]
pub struct ManyResult {
    /// The end of its run.
    pub end: RunEnd,
    /// Name of the input: its line, its file or its run.
    pub place: String,
}

/// The end of an input's run.
#[derive(Debug)]
pub enum RunEnd {
    /// A run that ended or is left, or that was not begun.
    Run(Box<AgentResult>, Ending),
    /// A workflow that ended or is left.
    Workflow(Box<WorkflowResult>, Ending),
    /// The run was left to another process, for that reason.
    Skipped(String),
    /// Its result was lost in a panic.
    Lost(String),
}

impl RunEnd {
    /// Names the input that asked for the run. The task of a run that has begun is that of its record.
    pub(super) fn asked_by(mut self, listed: Listed) -> Self {
        match &mut self {
            Self::Run(result, _) => {
                let mut said = result.conversation.iter();
                let task = said.find(|message| message.role == Role::User);
                let task = task.map(|task| task.content.clone()).or(listed.task);
                result.listed = Some(Listed { task, ..listed });
            }
            Self::Workflow(result, _) => {
                let task = result.input.clone().or(listed.task);
                result.listed = Some(Listed { task, ..listed });
            }
            Self::Skipped(_) | Self::Lost(_) => {}
        }
        self
    }
}

/// The way in which a run came to its end, or to where it is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Own,
    /// It had ended before.
    Recorded,
    /// It could not be resumed and stays as it was, without a record of the reason; the advice, where there is some.
    Refused(Option<String>),
    /// It was asked to stop, and ended because of that.
    Stopped,
}

/// Returns the call that a run waits with for a person, and the waiting run, which may be a child of it.
#[must_use]
pub fn awaited(result: &AgentResult) -> Option<(&RunId, String)> {
    let awaited = result.waits_for.as_ref()?;
    let run_id = awaited.run_id.as_ref().or(result.run_id.as_ref())?;
    let call = format!("call {}, {}", awaited.call, line(&awaited.name));
    Some((run_id, call))
}

/// The results of many runs so far.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// True if a run has ended without success, or came to no end, or an input has begun none.
    pub failed: bool,
    /// The first that waits for a person, and its call.
    pub first_waiting: Option<(RunId, String)>,
    /// The first that was brought to its end.
    pub interrupted: Option<RunId>,
    /// The first that had failed before, and was not run again.
    pub recorded: Option<RunId>,
    /// The inputs that have begun no run because the process was asked to end.
    pub rest: Option<Rest>,
    /// Number of suspended runs, with those that wait for a person.
    pub suspended: usize,
    /// The first that failed.
    pub to_explain: Option<RunId>,
    /// Number of runs that wait for a person.
    pub waiting: usize,
    /// True once no further run can come to a result.
    pub(super) is_useless: bool,
    /// True once the runs are brought to their ends.
    pub(super) stopping: bool,
}

/// The inputs that have begun no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The rest of a list.
    List {
        /// True if the list from there on begins runs again that have begun without a name.
        again: bool,
        /// The first line as `--from` names it.
        from: String,
        /// The first line in words.
        place: String,
    },
    /// The number of runs of the store that were not resumed.
    Runs(usize),
}

impl Rest {
    pub(super) fn of_list((place, from): (String, String), again: bool) -> Self {
        Self::List { again, from, place }
    }
}

impl Summary {
    /// Exit code of the process: 8 if a run is suspended, 1 if one failed, else 0.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        if self.suspended > 0 {
            Exit::SUSPENDED
        } else if self.failed {
            Exit::FAILED
        } else {
            Exit::OK
        }
    }

    pub(super) fn take(&mut self, end: &RunEnd) {
        let (success, suspended, run_id, waits_for, ending) = match end {
            RunEnd::Run(result, ending) => {
                let suspended = result.is_suspended();
                let run_id = result.run_id.as_ref();
                (result.success, suspended, run_id, awaited(result), ending)
            }
            RunEnd::Workflow(result, ending) => {
                let (suspended, run_id) = (!result.is_ended(), Some(&result.run_id));
                let waits_for = result.awaited();
                (result.success, suspended, run_id, waits_for, ending)
            }
            RunEnd::Skipped(_) => return,
            RunEnd::Lost(_) => {
                self.failed = true;
                return;
            }
        };
        self.failed |= !success;
        self.suspended = self.suspended.saturating_add(suspended.into());
        let Some(run_id) = run_id else {
            return;
        };
        if let Some((waiting, call)) = waits_for {
            self.waiting = self.waiting.saturating_add(1);
            let first = || (waiting.clone(), call);
            self.first_waiting.get_or_insert_with(first);
        } else if is_interrupted(end) || self.stopping && *ending == Ending::Stopped && success {
            self.interrupted.get_or_insert_with(|| run_id.clone());
        } else if !success && !suspended && !matches!(ending, Ending::Refused(_)) {
            self.to_explain.get_or_insert_with(|| run_id.clone());
        }
        if *ending == Ending::Recorded && !success {
            self.recorded.get_or_insert_with(|| run_id.clone());
        }
    }
}

fn is_interrupted(end: &RunEnd) -> bool {
    let RunEnd::Run(result, _) = end else {
        return false;
    };
    let outcome = result.outcome.map(|outcome| outcome.class);
    outcome == Some(AgentOutcome::Interrupted)
}
