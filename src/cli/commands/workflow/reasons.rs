//! The reasons for the end of a workflow: the entry that decided, the failures and their reasons, the compensations, and the
//! usage.

use std::fmt::Write as _;

use crate::context::app::App;
use crate::ui::screen::Style;
use monolith_core::agent::{StepResult, StepState, StepView, WorkflowEventKind, WorkflowView};
use monolith_core::contract::WorkflowDefinition;
use monolith_core::message::RunId;
use monolith_core::view::{RunView, TreeUsage};
use monolith_host::store::StoreError;
use monolith_host::telemetry::{why as why_of_run, workflow_sentence};
use monolith_service::drive::typed_at::TypedAt;
use monolith_service::error::ServiceError;
use monolith_service::remedy::remedy_of;
use monolith_service::source::Source;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, grouped, seconds};
use monolith_service::workflow_entries::WorkflowSource;

/// Maximum number of listed entries.
const MOST_ENTRIES: usize = 6;

/// Explains why the workflow ended as it did.
pub(super) fn why(
    app: &App,
    definition: &WorkflowDefinition,
    view: &WorkflowView,
    source: &mut WorkflowSource,
) -> Result<String, ServiceError> {
    let mut out = match view.outcome {
        None if view.suspended => "no end yet: suspended\n".to_owned(),
        None => "no end yet\n".to_owned(),
        Some(outcome) => {
            let style = if outcome.exit_code() == 0 {
                Style::Good
            } else {
                Style::Bad
            };
            format!(
                "{}\n{} Exit code {}.\n",
                app.screen.paint_out(style, &outcome.to_string()),
                workflow_sentence(outcome.code),
                outcome.exit_code()
            )
        }
    };
    if let Some(detail) = view.detail.as_deref().filter(|_| view.outcome.is_some()) {
        let _ = writeln!(out, "{}", line(detail));
    }
    let mut rows = Vec::new();
    let mut decided = None;
    source.each_entry(|_, action, event| {
        if action.outcome.is_some() && decided.is_none() {
            let at_ms = event.map_or(view.at_ms, |event| event.at_ms);
            decided = Some((action.seq, action.from, action.to, at_ms));
        }
        let places = action.begun.iter().map(|step| line(&step.place));
        let places: Vec<String> = places.collect();
        let begins = (!places.is_empty()).then(|| format!("begins {}", places.join(", ")));
        let happened = event.map(|event| happened(&event.event));
        let words: Vec<String> = happened.into_iter().chain(begins).collect();
        if action.length.is_none() {
            let (seq, to) = (action.seq, action.to.as_str());
            rows.push(format!("  {seq:>4}  {to:<12}  {}", words.join("; ")));
        }
        Ok(())
    })?;
    if let Some((seq, from, to, at_ms)) = decided {
        let (from, to, at) = (from.as_str(), to.as_str(), seconds(at_ms));
        let _ = writeln!(
            out,
            "\nDecided in entry {seq}, {from} → {to}, {at} into the workflow."
        );
    }
    let stored = source.reader().is_some().then_some(app);
    listed(&mut out, "What failed", view, stored, has_failed)?;
    listed(&mut out, "What was ended", view, stored, |state| {
        state == StepState::Ended
    })?;
    listed(&mut out, "What was compensated", view, stored, |state| {
        state == StepState::Compensated
    })?;
    let skipped = rows.len().saturating_sub(MOST_ENTRIES);
    let more = match skipped {
        0 => String::new(),
        skipped => format!(" ({} before them)", counted(skipped, "entry")),
    };
    let _ = writeln!(out, "\nThe last entries{more}:");
    for row in rows.iter().skip(skipped) {
        let _ = writeln!(out, "{}", brief(row, 160).trim_end());
    }
    let _ = write!(out, "\nUsed:\n{}", used(definition, view));
    Ok(out)
}

/// Shows the workflow's use of its limits, and the usage of its step runs with their child runs.
pub(super) fn used(definition: &WorkflowDefinition, view: &WorkflowView) -> String {
    let of = |used: u64, limit: u64| format!("{} of {}", grouped(used), grouped(limit));
    let counters = &view.counters;
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<9} {text}");
    };
    row("steps", &of(counters.steps, definition.max_steps));
    if counters.iterations > 0 {
        row("loops", &counted(counters.iterations, "iteration"));
    }
    row("ms", &of(view.at_ms, definition.total_timeout_ms));
    if let Some(TreeUsage {
        cost_micro_usd,
        tokens,
        ..
    }) = view.used()
    {
        let runs = match view.unknown_uses() {
            0 => "by its step runs".to_owned(),
            unknown => format!("by its step runs, {unknown} of which this store does not have"),
        };
        row("tokens", &format!("{} {runs}", grouped(tokens)));
        if cost_micro_usd > 0 {
            row("micro-usd", &format!("{} {runs}", grouped(cost_micro_usd)));
        }
    }
    out
}

/// The step runs of some states below a title, each with the reason of its run.
fn listed(
    out: &mut String,
    title: &str,
    view: &WorkflowView,
    stored: Option<&App>,
    wanted: impl Fn(StepState) -> bool,
) -> Result<(), ServiceError> {
    let mut titled = false;
    for step in view.steps.iter().filter(|step| wanted(step.state)) {
        if !std::mem::replace(&mut titled, true) {
            let _ = writeln!(out, "\n{title}:");
        }
        let undoes = step.compensates.map(|of| format!(", undoes {of}"));
        let run = step.run_id.as_ref().map(|run_id| format!("  run {run_id}"));
        let outcome = step.outcome.map(|outcome| format!("  {outcome}"));
        let _ = writeln!(
            out,
            "  step {} {}{}  {}{}{}",
            step.number,
            line(&step.place),
            undoes.unwrap_or_default(),
            step.state.as_str(),
            run.unwrap_or_default(),
            outcome.unwrap_or_default()
        );
        let run = run_of(step, stored)?;
        if let Some(reason) = reason_of(step, run.as_ref()) {
            let _ = writeln!(out, "    {}", brief(&reason, 300));
        }
        let (Some(app), Some((run_id, run))) = (stored, &run) else {
            continue;
        };
        let remedy = remedy_of(app, run, run_id, TypedAt::Shell);
        let remedy = remedy.map(|remedy| format!("what may help: {}; ", remedy.words()));
        let more = app.hint(&format!("show {} --why", app.brief_name(run_id.as_str())));
        let _ = writeln!(out, "    {}more: {more}", remedy.unwrap_or_default());
    }
    Ok(())
}

/// The run of a step that failed, as far as the store has it.
fn run_of(step: &StepView, stored: Option<&App>) -> Result<Option<(RunId, RunView)>, ServiceError> {
    let (true, Some(run_id)) = (has_failed(step.state), &step.run_id) else {
        return Ok(None);
    };
    let Some(mut reader) = stored.map(|app| app.reader()).transpose()?.flatten() else {
        return Ok(None);
    };
    match reader.read_run(run_id).map(drop) {
        Err(StoreError::NoSuchRun { .. }) => return Ok(None),
        there => there?,
    }
    let view = Source::Run(run_id.clone(), reader).each_step(|_, _, _| Ok(()))?;
    Ok(Some((run_id.clone(), view)))
}

const fn has_failed(state: StepState) -> bool {
    matches!(state, StepState::Failed | StepState::CompensationFailed)
}

/// Returns why a step run did not end well, in its own words; `None` if it is not in the store.
fn reason_of(step: &StepView, run: Option<&(RunId, RunView)>) -> Option<String> {
    let (Some(_), Some(outcome)) = (&step.run_id, step.outcome) else {
        return step.text.clone();
    };
    if !has_failed(step.state) {
        return None;
    }
    if let Some(reason) = &step.reason {
        return Some(reason.clone());
    }
    if outcome.class.is_success() {
        // Its tool reported an error: the result says which.
        return step.text.clone();
    }
    run.and_then(|(_, view)| why_of_run(view))
}

/// Describes an event in words.
fn happened(event: &WorkflowEventKind) -> String {
    match event {
        WorkflowEventKind::Started(_) => "it begins".to_owned(),
        WorkflowEventKind::StepEnded { number, result } => {
            let how = match &**result {
                StepResult::Run(run) => run.outcome.to_string(),
                StepResult::NotBegun(reason) => format!("not begun: {}", line(reason)),
            };
            format!("step {number} ended, {how}")
        }
        WorkflowEventKind::TimerFired => "it timed out".to_owned(),
        WorkflowEventKind::StopRequested => "a stop was requested".to_owned(),
        WorkflowEventKind::Interrupted => "it was told to end at once".to_owned(),
        WorkflowEventKind::Suspended => "its process suspended it".to_owned(),
        WorkflowEventKind::Resumed => "another process resumed it".to_owned(),
    }
}
