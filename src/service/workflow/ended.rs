//! The result of a workflow, as a document and in words.

use serde::Serialize;

use crate::error::ServiceError;
use crate::exit::Exit;
use crate::service::Service;
use crate::text::escape::{brief, line};
use crate::waiting_call::is_stuck;
use crate::workflow::waiting::AwaitedCall;
use crate::workflow_entries::view_of;
use monolith_core::agent::{StepView, WorkflowCounters, WorkflowView};
use monolith_core::contract::{StepId, WorkflowClass, WorkflowCode, WorkflowOutcome};
use monolith_core::message::{Digest, RunId};
use monolith_core::view::TreeUsage;
use monolith_host::store::StoreReader;
use monolith_host::telemetry::Listed;

/// The format of the document.
const WORKFLOW_RESULT_FORMAT: &str = "monolith-workflow-result/1";
/// Maximum length of the reason why a step failed.
const MOST_REASON: usize = 300;

/// The result of a workflow that has ended, or was left.
#[derive(Debug, Serialize)]
pub struct WorkflowResult {
    format: &'static str,
    /// True if it ended and succeeded.
    pub success: bool,
    /// Null where it has no end yet.
    pub outcome: Option<WorkflowOutcome>,
    /// Exit code of its outcome; that of a suspension if it has no end.
    pub exit_code: u8,
    /// Name of the workflow run.
    pub run_id: RunId,
    head: Digest,
    /// Number of its entries.
    pub entries: u64,
    /// Time for which it was driven.
    pub elapsed_ms: u64,
    /// The counters of the workflow's machine.
    counters: WorkflowCounters,
    /// The usage of all step runs, with their child runs; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    with_below: Option<TreeUsage>,
    /// The output of its last step.
    pub output: String,
    /// The reason for its end where it did not succeed: limit, step and figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// Every step run, in the order in which they were begun.
    steps: Vec<StepView>,
    /// The calls of runs below it that wait for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<AwaitedCall>,
    /// The input of a list that asked for it; absent if no list did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<Listed>,
    /// The text that its steps were given as input, unless it is empty.
    #[serde(skip)]
    pub(crate) input: Option<String>,
}

impl WorkflowResult {
    /// Makes the result of a workflow that was folded so far.
    pub fn of(run_id: RunId, head: Digest, output: String, view: WorkflowView) -> Self {
        let outcome = view.outcome;
        let input = view.started.as_ref().map(|started| started.input.clone());
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
            listed: None,
            input: input.filter(|input| !input.is_empty()),
        }
    }

    /// With the calls that wait for a person.
    #[must_use]
    pub fn waiting_for(self, waits_for: Vec<AwaitedCall>) -> Self {
        Self { waits_for, ..self }
    }

    /// Returns a workflow of the store whose child runs all wait for a person who has not answered: a process that resumes it
    /// would only leave it again. `None` if there is something to do.
    pub fn waiting(
        service: &Service,
        run_id: &RunId,
        next_steps: &[u64],
    ) -> Result<Option<Self>, ServiceError> {
        let waits = AwaitedCall::answerable(service, run_id)?;
        let Some(mut reader) = service.reader()?.filter(|_| !waits.is_empty()) else {
            return Ok(None);
        };
        for number in next_steps {
            let Ok(step) = run_id.step(*number) else {
                return Ok(None);
            };
            if !is_stuck(service, &mut reader, &step, |run| {
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

    /// True if a person ended it at once.
    pub fn is_aborted(&self) -> bool {
        self.outcome
            .is_some_and(|end| end.code == WorkflowCode::Abort)
    }

    /// The runs of its steps that have ended, each with the step.
    pub fn step_runs(&self) -> impl Iterator<Item = (&RunId, &StepId)> {
        let steps = self.steps.iter();
        steps.filter_map(|step| Some((step.run_id.as_ref()?, &step.step)))
    }

    /// True if somebody ended it.
    pub fn is_stopped(&self) -> bool {
        self.outcome
            .is_some_and(|outcome| outcome.class == WorkflowClass::Stopped)
    }

    /// The first call that waits for a person, and its run.
    pub fn awaited(&self) -> Option<(&RunId, String)> {
        let first = self.waits_for.first()?;
        let call = format!("call {}, {}", first.call, line(&first.name));
        Some((&first.run_id, call))
    }

    /// Returns the reason why it did not succeed: the failed steps, or the limit with its figure.
    pub fn why(&self) -> String {
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

    /// True if it has an end.
    pub const fn is_ended(&self) -> bool {
        self.outcome.is_some()
    }
}

/// Adds to the view what each step run used, those below it included, as far as the store has it.
pub fn use_of_steps(
    view: &mut WorkflowView,
    reader: Option<&mut StoreReader>,
) -> Result<(), ServiceError> {
    let Some(reader) = reader else {
        return Ok(());
    };
    let started = view.started.as_ref().map(|started| started.run_id.clone());
    let numbers: Vec<u64> = view.steps.iter().map(|step| step.number).collect();
    for number in numbers {
        let step = started.as_ref().map(|run| run.step(number));
        let Some(Ok(run_id)) = step else {
            continue;
        };
        let lineage = reader.lineage(&run_id)?;
        let is_its = |workflow| lineage.is_some_and(|found| found.is_of(workflow, None));
        if !started.as_ref().is_some_and(is_its) {
            continue;
        }
        let run = reader.read_run(&run_id)?;
        let last = run.row().length.saturating_sub(1);
        let last = run.starting_at(last).last().transpose()?;
        // What does not read back is for the verification of that run.
        if let Some(action) = last.and_then(|entry| entry.decode_action().ok()) {
            view.used_by(number, TreeUsage::of(&action.counters));
        }
    }
    Ok(())
}
