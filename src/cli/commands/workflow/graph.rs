//! The graph of a workflow as text: its steps in the order of the definition, with what they wait for and where they stand.

use std::fmt::Write as _;

use super::reasons::used;
use crate::context::app::App;
use crate::ui::screen::Style;
use monolith_core::agent::{StepState, StepView, WorkflowView};
use monolith_core::contract::{FailureStrategy, Step, StepId, Work, WorkflowDefinition};
use monolith_core::message::{Digest, RunId};
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::seconds;

/// The most iterations of a loop that are drawn one by one.
const MOST_DRAWN: usize = 20;
/// The most characters of why a step failed; `--why` has more.
const MOST_WHY: usize = 160;

/// The whole page of a workflow.
pub(super) fn graph(
    app: &App,
    run_id: &RunId,
    definition: &WorkflowDefinition,
    view: &WorkflowView,
    (head, verified): (Digest, &str),
) -> String {
    let mut out = String::new();
    let outcome = match (view.outcome, view.suspended) {
        (Some(outcome), _) => outcome.to_string(),
        (None, true) => "suspended".to_owned(),
        (None, false) => "no end yet".to_owned(),
    };
    let state = view.state.map_or("", |state| state.as_str());
    let _ = writeln!(
        out,
        "workflow {}   run {run_id}   {verified}",
        definition.id
    );
    let _ = writeln!(
        out,
        "{outcome}   {state}   {}   {} entries   head {}",
        seconds(view.at_ms),
        view.entries,
        head.short(16)
    );
    let input = view.started.as_ref().map(|started| line(&started.input));
    if let Some(input) = input.filter(|input| !input.is_empty()) {
        let _ = writeln!(out, "input: {}", brief(&input, 100));
    }
    out.push('\n');
    let mut drawing = Drawing { app, out, view };
    drawing.steps(&definition.steps, "", 0);
    drawing.out.push('\n');
    drawing.out.push_str(&used(definition, view));
    drawing.out
}

struct Drawing<'a> {
    app: &'a App,
    out: String,
    view: &'a WorkflowView,
}

impl Drawing<'_> {
    fn steps(&mut self, steps: &[Step], around: &str, depth: usize) {
        for step in steps {
            self.step(step, around, depth);
        }
    }

    fn step(&mut self, step: &Step, around: &str, depth: usize) {
        let place = format!("{around}{}", step.id);
        let indent = "  ".repeat(depth);
        let waits: Vec<&str> = step.depends_on.iter().map(StepId::as_str).collect();
        let waits = if waits.is_empty() {
            String::new()
        } else {
            format!("  after {}", waits.join(", "))
        };
        if step.work.is_run() {
            let runs = self.view.steps.iter();
            let run = runs.clone().find(|run| run.place == place);
            let stands = self.stands(run);
            let kind = step.work.kind();
            let _ = writeln!(self.out, "{indent}{}  [{kind}]{waits}  {stands}", step.id);
            let undoing =
                run.and_then(|run| runs.clone().find(|u| u.compensates == Some(run.number)));
            if let Some(undoing) = undoing {
                let stands = self.stands(Some(undoing));
                let _ = writeln!(self.out, "{indent}  undone by {}  {stands}", undoing.step);
            }
            return;
        }
        let how = match &step.work {
            Work::Parallel(group) => {
                let strategy = match group.on_failure {
                    FailureStrategy::FailFast => "failFast",
                    FailureStrategy::ContinueOnError => "continueOnError",
                    FailureStrategy::Rollback => "rollback",
                };
                format!("at most {}, {strategy}", group.max_concurrency)
            }
            Work::If(held) => format!("on {}", held.condition.step),
            Work::While(held) => format!(
                "on {}, at most {}",
                held.condition.step, held.max_iterations
            ),
            Work::ForEach(held) => format!("at most {}", held.max_iterations),
            _ => String::new(),
        };
        let _ = writeln!(
            self.out,
            "{indent}{}  [{}: {how}]{waits}",
            step.id,
            step.work.kind()
        );
        match &step.work {
            Work::ForEach(_) | Work::While(_) => {
                let begun = (1..).take_while(|n| self.begun(&format!("{place}.{n}/")));
                let begun: Vec<u32> = begun.take(MOST_DRAWN).collect();
                for (_, steps) in step.work.inside() {
                    for n in &begun {
                        let _ = writeln!(self.out, "{indent}  iteration {n}");
                        let inside = format!("{place}.{n}/");
                        self.steps(steps, &inside, depth.saturating_add(2));
                    }
                    if begun.is_empty() {
                        self.steps(steps, &format!("{place}.1/"), depth.saturating_add(1));
                    }
                }
            }
            _ => {
                let inside = format!("{place}/");
                for (key, steps) in step.work.inside() {
                    let deeper = if key == "parallel" { 1 } else { 2 };
                    if key != "parallel" {
                        let _ = writeln!(self.out, "{indent}  {key}:");
                    }
                    self.steps(steps, &inside, depth.saturating_add(deeper));
                }
            }
        }
    }

    fn begun(&self, around: &str) -> bool {
        let mut steps = self.view.steps.iter();
        steps.any(|step| step.place.starts_with(around))
    }

    /// Returns the state of a step run, in words.
    fn stands(&self, run: Option<&StepView>) -> String {
        let screen = self.app.screen;
        let Some(run) = run else {
            let ended = self.view.outcome.is_some();
            let never = if ended { "skipped" } else { "not begun" };
            return screen.paint_out(Style::Dim, never);
        };
        let style = match run.state {
            StepState::Done | StepState::Compensated => Style::Good,
            StepState::Failed | StepState::CompensationFailed => Style::Bad,
            StepState::Running | StepState::Ended => Style::Dim,
        };
        let state = screen.paint_out(style, run.state.as_str());
        let number = run.number;
        let named = match &run.run_id {
            Some(run_id) => format!("run {run_id}"),
            None => format!("step {number}"),
        };
        let how = if run.reason.is_some() || run.outcome.is_some() {
            format!("  {}", brief(&run.failure(), MOST_WHY))
        } else {
            String::new()
        };
        format!("{state}  {named}{how}")
    }
}
