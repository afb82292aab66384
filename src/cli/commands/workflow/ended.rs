//! What a workflow came to, as a document and in words.

use serde::Serialize;

use crate::agent::{StepView, WorkflowCounters, WorkflowView};
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::seconds;
use crate::contract::WorkflowOutcome;
use crate::message::{Digest, RunId};
use crate::view::TreeUsage;

/// The format of the document.
const WORKFLOW_RESULT_FORMAT: &str = "monolith-workflow-result/1";

/// The result of a workflow that has ended, or was left.
#[derive(Debug, Serialize)]
pub(super) struct WorkflowResult {
    format: &'static str,
    success: bool,
    /// Null where it has no end yet.
    outcome: Option<WorkflowOutcome>,
    exit_code: u8,
    run_id: RunId,
    head: Digest,
    entries: u64,
    elapsed_ms: u64,
    /// What the machine of workflows counts.
    counters: WorkflowCounters,
    /// What all step runs used, with what is below them; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    with_below: Option<TreeUsage>,
    /// What its last step came to.
    output: String,
    /// Every step run, in the order in which they were begun.
    steps: Vec<StepView>,
}

impl WorkflowResult {
    pub(super) fn of(run_id: RunId, head: Digest, output: String, view: WorkflowView) -> Self {
        let outcome = view.outcome;
        let exit_code = outcome.map_or(Exit::SUSPENDED.0, WorkflowOutcome::exit_code);
        Self {
            format: WORKFLOW_RESULT_FORMAT,
            success: outcome.is_some() && exit_code == 0,
            outcome,
            exit_code,
            run_id,
            head,
            entries: view.entries,
            elapsed_ms: view.at_ms,
            counters: view.counters,
            with_below: view.used(),
            output,
            steps: view.steps,
        }
    }

    /// Whether it has an end.
    pub(super) const fn is_ended(&self) -> bool {
        self.outcome.is_some()
    }

    /// Shows it; returns its exit code.
    pub(super) fn report(&self, app: &App, json: bool) -> Result<Exit, CliError> {
        let (screen, run_id) = (app.screen, &self.run_id);
        let time = seconds(self.elapsed_ms);
        let show = app.hint(&format!("show {run_id}"));
        match self.outcome {
            None => {
                let resume = app.hint(&format!("resume {run_id}"));
                let text = format!(
                    "{time}  suspended   workflow {run_id}; {resume} goes on with it, {show} shows its steps\n"
                );
                screen.write_err(&text);
            }
            Some(outcome) if self.success => {
                if !app.accounting.quiet {
                    let text = format!("{time}  {outcome}   workflow {run_id}; {show}\n");
                    screen.write_err(&text);
                }
            }
            Some(outcome) => {
                let failed = self.steps.iter().filter(|step| step.failed());
                let failed = failed.map(|step| {
                    let how = match (&step.outcome, &step.text) {
                        (Some(outcome), _) => outcome.to_string(),
                        (None, Some(reason)) => line(reason),
                        (None, None) => String::new(),
                    };
                    format!("{} {}: {how}", step.state.as_str(), line(&step.place))
                });
                let failed: Vec<String> = failed.collect();
                let message = format!("workflow {run_id}: {outcome}: {}", failed.join("; "));
                screen.fault(&message, Some(show));
            }
        }
        if json {
            screen.out_json(self)?;
        } else if self.success {
            let answer = self.output.trim_end_matches('\n');
            screen.out_foreign(&format!("{answer}\n"))?;
        }
        Ok(Exit(self.exit_code))
    }
}

impl StepView {
    fn failed(&self) -> bool {
        use crate::agent::StepState;
        matches!(
            self.state,
            StepState::Failed | StepState::CompensationFailed
        )
    }
}
