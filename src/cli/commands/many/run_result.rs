//! The printed result of one of many runs: the document for programs, a short line for a person. Does not know when it is written.

use std::io;

use serde::Serialize;

use crate::context::app::App;
use crate::ui::screen::{Screen, Style};
use crate::ui::wrap::shortened;
use monolith_core::message::RunId;
use monolith_host::telemetry::{AgentResult, Listed};
use monolith_service::drive::unanswered::approve_hint;
use monolith_service::many::{Ending, awaited};
use monolith_service::text::escape::{flowing, line};
use monolith_service::text::numbers::{dollars, seconds};
use monolith_service::workflow::ended::WorkflowResult;

/// Stands in the line of a run that had ended before.
const AS_RECORDED: &str = "as recorded";

/// The printed result of one run.
pub(super) struct Printed {
    /// True if `text` is the document.
    is_document: bool,
    /// A line for stderr, where the result alone would not be understood.
    pub(super) note: Option<String>,
    /// The output for stdout.
    text: String,
}

impl Printed {
    /// The result of a run; `json` for the document, also on a terminal.
    pub(super) fn run(app: &App, json: bool, result: &AgentResult, ending: &Ending) -> Self {
        if json || !app.screen.is_shown() {
            let note = awaited(result).map(|(run_id, call)| {
                let answer = how_to_answer(app, run_id);
                format!("note: run {run_id} waits for an approval of {call}; {answer}\n")
            });
            return Self::document(result, note);
        }
        let text = lines_for_people(app, result, ending);
        let text = match ending {
            Ending::Refused(Some(help)) => format!("{text}        {}\n", line(help)),
            _ => text,
        };
        Self {
            is_document: false,
            note: None,
            text,
        }
    }

    fn document(result: &impl Serialize, note: Option<String>) -> Self {
        // Strings, numbers and words only: serialising a result cannot fail.
        let document = serde_json::to_string(result).unwrap_or_default();
        Self {
            is_document: true,
            note,
            text: format!("{document}\n"),
        }
    }

    /// The result of a workflow, a separate kind of document.
    pub(super) fn workflow(
        app: &App,
        json: bool,
        result: &WorkflowResult,
        ending: &Ending,
    ) -> Self {
        let (success, run_id) = (result.success, &result.run_id);
        let awaited = result.awaited();
        let answer = awaited
            .as_ref()
            .map(|(waiting, _)| how_to_answer(app, waiting));
        if json || !app.screen.is_shown() {
            let note = awaited.as_ref().zip(answer).map(|((waiting, call), answer)| {
                format!("note: run {waiting}, below workflow {run_id}, waits for an approval of {call}; {answer}\n")
            });
            return Self::document(result, note);
        }
        let label = workflow_label(result);
        let recorded = if *ending == Ending::Recorded {
            AS_RECORDED
        } else {
            ""
        };
        let what = match (awaited, success, result.outcome) {
            (Some((_, call)), ..) => call,
            (None, true, _) => first_line(result.output.trim()),
            (None, false, Some(_)) => result.why(),
            (None, false, None) => String::new(),
        };
        let asked_by = asked_by(result.listed.as_ref()).unwrap_or_default();
        let words = [
            label,
            run_id.as_str(),
            recorded,
            &asked_by,
            &seconds(result.elapsed_ms),
            &what,
        ];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let text = line(&words.join("  "));
        let style = match (success, result.outcome) {
            (true, _) => Style::Good,
            (false, None) => Style::Bold,
            (false, Some(_)) => Style::Bad,
        };
        let text = text.replacen(label, &app.screen.paint_out(style, label), 1);
        let answer = answer.map(|answer| format!("        {answer}\n"));
        Self {
            is_document: false,
            note: None,
            text: format!("{text}\n{}", answer.unwrap_or_default()),
        }
    }

    /// Writes it to stdout.
    pub(super) fn write(&self, screen: Screen) -> io::Result<()> {
        if self.is_document {
            screen.out_json_read(&self.text)
        } else {
            screen.out(&self.text)
        }
    }
}

/// The class of the outcome, or a word where there is none.
pub(super) fn workflow_label(result: &WorkflowResult) -> &'static str {
    match result.outcome {
        Some(outcome) => outcome.class.as_str(),
        None if result.waits_for.is_empty() => "suspended",
        None => "waiting for approval",
    }
}

/// The class of the outcome, or a word where there is none.
pub(super) fn label(result: &AgentResult, ending: &Ending) -> &'static str {
    match result.outcome {
        _ if matches!(ending, Ending::Refused(_)) => "not resumed",
        Some(outcome) => outcome.class.as_str(),
        None if result.waits_for.is_some() => "waiting for approval",
        None if result.is_suspended() => "suspended",
        None if result.run_id.is_none() => "not begun",
        None => "broken off",
    }
}

/// Maximum number of characters of a task in the line of its run.
const MOST_TASK: usize = 40;

/// The file and the task of a run that a list asked for.
fn asked_by(listed: Option<&Listed>) -> Option<String> {
    let contract = listed?.contract.as_ref()?;
    let task = listed?.task.as_deref().map(|task| flowing(task, MOST_TASK));
    Some(match task.filter(|task| !task.is_empty()) {
        Some(task) => format!("{contract}: {task}"),
        None => contract.clone(),
    })
}

/// One line of a terminal, or more where the run did not succeed: its reason is whole. Below it what to type, where the run waits for a person.
fn lines_for_people(app: &App, result: &AgentResult, ending: &Ending) -> String {
    let label = label(result, ending);
    let mut words = vec![label.to_owned()];
    if let Some(run_id) = &result.run_id {
        words.push(run_id.to_string());
        words.extend((*ending == Ending::Recorded).then(|| AS_RECORDED.to_owned()));
        words.extend(asked_by(result.listed.as_ref()));
        words.push(seconds(result.counters.elapsed_ms));
        if result.counters.cost_micro_usd > 0 {
            words.push(dollars(result.counters.cost_micro_usd));
        }
    }
    let report = result.report_text().trim();
    let is_whole = !result.success && !result.is_suspended();
    let awaited = awaited(result);
    words.push(match &awaited {
        Some((_, call)) => call.clone(),
        None if is_whole => report.split_whitespace().collect::<Vec<_>>().join(" "),
        None => first_line(report),
    });
    let text = line(words.join("  ").trim_end());
    let text = if is_whole {
        text
    } else {
        shortened(&text, app.screen.width_out())
    };
    let style = match (result.success, result.is_suspended()) {
        (true, _) => Style::Good,
        (false, true) => Style::Bold,
        (false, false) => Style::Bad,
    };
    let text = text.replacen(label, &app.screen.paint_out(style, label), 1);
    match awaited {
        Some((run_id, _)) => format!("{text}\n        {}\n", how_to_answer(app, run_id)),
        None => format!("{text}\n"),
    }
}

fn first_line(report: &str) -> String {
    let first = report.lines().next().unwrap_or_default();
    let more = if first.len() < report.len() {
        "…"
    } else {
        ""
    };
    format!("{first}{more}")
}

fn how_to_answer(app: &App, run_id: &RunId) -> String {
    format!(
        "answer it with {}, then resume with {}",
        approve_hint(app, run_id, run_id.as_str()),
        app.hint("resume --all")
    )
}
