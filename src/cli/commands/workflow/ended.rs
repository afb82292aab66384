//! What a workflow came to, as a document and in words.

use serde::Serialize;

use super::waiting::AwaitedCall;
use crate::context::app::App;
use monolith_core::agent::{StepView, WorkflowCounters, WorkflowView};
use monolith_core::contract::{StepId, WorkflowClass, WorkflowCode, WorkflowOutcome};
use monolith_core::message::{Digest, RunId};
use monolith_core::view::TreeUsage;
use monolith_service::drive::lost_calls::resume_notes_below;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::seconds;
use monolith_service::waiting_call::is_stuck;
use monolith_service::workflow::usage::use_of_steps;
use monolith_service::workflow_entries::view_of;

/// The format of the document.
const WORKFLOW_RESULT_FORMAT: &str = "monolith-workflow-result/1";
/// How much is said of why a step failed.
const MOST_REASON: usize = 300;

/// The result of a workflow that has ended, or was left.
#[derive(Debug, Serialize)]
pub(crate) struct WorkflowResult {
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
    /// Why it ended so where it did not succeed: limit, step and figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// Every step run, in the order in which they were begun.
    steps: Vec<StepView>,
    /// The calls of runs below it that wait for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for: Vec<AwaitedCall>,
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
            detail: view.detail.filter(|_| exit_code != 0 && outcome.is_some()),
            steps: view.steps,
            waits_for: Vec::new(),
        }
    }

    /// With the calls that wait for a person.
    pub(super) fn waiting_for(self, waits_for: Vec<AwaitedCall>) -> Self {
        Self { waits_for, ..self }
    }

    /// One of the store of which every run below waits for a person who has not answered: a process that goes on with it would only leave
    /// it again. `None` if there is something to go on with.
    pub(super) fn waiting(
        app: &App,
        run_id: &RunId,
        next_steps: &[u64],
    ) -> Result<Option<Self>, ServiceError> {
        let waits = AwaitedCall::answerable(app, run_id)?;
        let Some(mut reader) = app.reader()?.filter(|_| !waits.is_empty()) else {
            return Ok(None);
        };
        for number in next_steps {
            let Ok(step) = run_id.step(*number) else {
                return Ok(None);
            };
            if !is_stuck(app, &mut reader, &step, |run| {
                waits.iter().any(|call| call.run_id == *run)
            })? {
                return Ok(None);
            }
        }
        if next_steps.is_empty() {
            return Ok(None);
        }
        let mut view = view_of(&mut reader, run_id)?;
        use_of_steps(&mut view, Some(&mut reader))?;
        let head = reader.read_run(run_id)?.row().head;
        let result = Self::of(run_id.clone(), head, String::new(), view);
        Ok(Some(result.waiting_for(waits)))
    }

    /// Whether a person ended it at once.
    pub(super) fn is_aborted(&self) -> bool {
        self.outcome
            .is_some_and(|end| end.code == WorkflowCode::Abort)
    }

    /// Its name.
    pub(crate) const fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The runs of its steps that have ended, each with the step.
    pub(super) fn step_runs(&self) -> impl Iterator<Item = (&RunId, &StepId)> {
        let steps = self.steps.iter();
        steps.filter_map(|step| Some((step.run_id.as_ref()?, &step.step)))
    }

    /// What it came to; `None` if it has no end.
    pub(crate) const fn outcome(&self) -> Option<WorkflowOutcome> {
        self.outcome
    }

    /// Whether somebody ended it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.outcome
            .is_some_and(|outcome| outcome.class == WorkflowClass::Stopped)
    }

    /// Whether it succeeded.
    pub(crate) const fn is_success(&self) -> bool {
        self.success
    }

    /// How many entries it has, and for how long it was driven.
    pub(crate) const fn size(&self) -> (u64, u64) {
        (self.entries, self.elapsed_ms)
    }

    /// What its last step came to.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    /// The first call that waits for a person, and its run.
    pub(crate) fn awaited(&self) -> Option<(&RunId, String)> {
        let first = self.waits_for.first()?;
        let call = format!("call {}, {}", first.call, line(&first.name));
        Some((&first.run_id, call))
    }

    /// Why it did not succeed: what failed, or which limit with its figure.
    pub(crate) fn why(&self) -> String {
        let failed = self.steps.iter().filter(|step| step.has_failed());
        let failed = failed.map(|step| {
            let (state, place) = (step.state.as_str(), line(&step.place));
            format!("{state} {place}: {}", brief(&step.failure(), MOST_REASON))
        });
        // What a step came to is shown with the step.
        let of_step = self.outcome.is_some_and(|outcome| {
            matches!(
                outcome.code,
                WorkflowCode::StepFailed | WorkflowCode::ToolError | WorkflowCode::StepNotBegun
            )
        });
        let detail = self.detail.as_deref().filter(|_| !of_step).map(line);
        let all: Vec<String> = detail.into_iter().chain(failed).collect();
        all.join("; ")
    }

    /// Whether it has an end.
    pub(super) const fn is_ended(&self) -> bool {
        self.outcome.is_some()
    }

    /// Shows it; returns its exit code.
    pub(super) fn report(&self, app: &App, json: bool) -> Result<Exit, ServiceError> {
        let (screen, run_id) = (app.screen, &self.run_id);
        let time = seconds(self.elapsed_ms);
        let show = app.hint(&format!("show {run_id}"));
        match self.outcome {
            None => {
                let resume = app.hint(&format!("resume {run_id}"));
                let then = if self.waits_for.is_empty() {
                    ""
                } else {
                    "then "
                };
                // What does not read is named by `verify`.
                for lost in resume_notes_below(app, run_id).unwrap_or_default() {
                    screen.write_err(&format!("note: {lost}\n"));
                }
                for call in &self.waits_for {
                    screen.write_err(&format!("{time}  {}\n", call.in_words(app)));
                }
                let text = format!(
                    "{time}  suspended   workflow {run_id}; {then}{resume} goes on with it, {show} shows its steps\n"
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
                let message = format!("workflow {run_id}: {outcome}: {}", self.why());
                screen.fault(&message, Some(format!("{show} --why")));
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
