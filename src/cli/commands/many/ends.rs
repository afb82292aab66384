//! What the runs of a list have come to so far, and what to type next about them: one example of each kind. Decides nothing about a run.

use super::run_result::{Ending, RunResult};
use crate::context::app::App;
use monolith_core::kernel::AgentOutcome;
use monolith_core::message::RunId;
use monolith_service::drive::unanswered::approve_hint;

/// What the runs have come to so far.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Whether one has ended without success, or came to no end.
    pub(super) failed: bool,
    /// Whether the runs are brought to their ends.
    pub(super) stopping: bool,
    /// The first that failed.
    to_explain: Option<RunId>,
    /// The first that was brought to its end.
    interrupted: Option<RunId>,
    /// The first that had failed before, and was not run again.
    recorded: Option<RunId>,
    /// How many are suspended; those that wait for a person are among them.
    suspended: usize,
    /// How many wait for a person; the first of them, and its call.
    waiting: usize,
    first_waiting: Option<(RunId, String)>,
}

impl Ends {
    /// Whether one is suspended.
    pub(super) const fn has_suspended(&self) -> bool {
        self.suspended > 0
    }

    /// A run has come to that.
    pub(super) fn take(&mut self, result: &RunResult) {
        self.failed |= !result.success;
        self.suspended = self.suspended.saturating_add(result.suspended.into());
        let Some(run_id) = &result.run_id else {
            return;
        };
        if let Some(call) = &result.waits_for {
            self.waiting = self.waiting.saturating_add(1);
            let first = || (run_id.clone(), call.clone());
            self.first_waiting.get_or_insert_with(first);
        } else if result.class == Some(AgentOutcome::Interrupted)
            || self.stopping && result.ending == Ending::Stopped && result.success
        {
            self.interrupted.get_or_insert_with(|| run_id.clone());
        } else if !result.success && !result.suspended && result.ending != Ending::Refused {
            self.to_explain.get_or_insert_with(|| run_id.clone());
        }
        if result.ending == Ending::Recorded && !result.success {
            self.recorded.get_or_insert_with(|| run_id.clone());
        }
    }

    /// What to type next, a line for each kind of end.
    pub(super) fn next(&self, app: &App) -> Vec<String> {
        let hint = |verb: &str, run_id: &RunId, rest: &str| {
            let name = app.brief_name(run_id.as_str());
            app.hint(&format!("{verb} {name}{rest}"))
        };
        let waiting = self.first_waiting.iter().map(|(run_id, call)| {
            let answers = approve_hint(app, run_id, &app.brief_name(run_id.as_str()));
            match self.waiting {
                0 | 1 => format!("a run waits for an approval of {call}: {answers} answers it"),
                waiting => format!(
                    "{waiting} runs wait for an approval, the first of {call}: {answers} answers it"
                ),
            }
        });
        let resumable = (self.suspended > self.waiting).then(|| {
            let resume = app.hint("resume --all");
            format!("{resume} goes on with what is suspended")
        });
        let interrupted = self.interrupted.iter().map(|run_id| {
            let goes_on = hint("continue", run_id, " \"…\"");
            format!("what was stopped has ended; {goes_on} goes on from one of them in a new run")
        });
        let failed = self.to_explain.iter().map(|run_id| {
            let why = hint("show", run_id, " --why");
            format!("why a run failed: {why}")
        });
        let recorded = self.recorded.iter().map(|run_id| {
            let delete = hint("delete", run_id, "");
            format!(
                "what had failed before was not run again; another `run_id` in its line begins it anew, and so does the same list after {delete}"
            )
        });
        let all = waiting.chain(resumable).chain(interrupted);
        let all = all.chain(failed).chain(recorded);
        all.collect()
    }
}
