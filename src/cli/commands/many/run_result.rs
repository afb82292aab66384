//! What is printed of a run of a list: the result document for programs, a short line for a person. Does not know when it is written.

use monolith_service::drive::unanswered::approve_hint;
use std::io;

use super::terms::Terms;
use crate::context::app::App;
use crate::ui::screen::{Screen, Style};
use crate::ui::wrap::shortened;
use monolith_core::kernel::AgentOutcome;
use monolith_core::message::RunId;
use monolith_host::telemetry::{AgentResult, AwaitedApproval};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{dollars, seconds};
use monolith_service::workflow::ended::WorkflowResult;

/// Stands in the line of a run that had ended before.
const AS_RECORDED: &str = "as recorded";

/// The word for a run that could not be gone on with.
const NOT_RESUMED: &str = "not resumed";

/// How a run came to its end, or to where it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself.
    Own,
    /// It had ended before.
    Recorded,
    /// It could not be gone on with, and stays as it was: nothing recorded says why.
    Refused,
    /// It was asked to stop, and that is why.
    Stopped,
}

/// The result of one run.
#[derive(Debug)]
pub(crate) struct RunResult {
    /// How it ended; `None` if it has no end.
    pub(super) class: Option<AgentOutcome>,
    /// How it came to its end.
    pub(super) ending: Ending,
    pub(super) entries: u64,
    /// Whether `text` is the document.
    is_document: bool,
    /// The class of its outcome, or a word where it has none.
    pub(super) label: String,
    /// A line for stderr, where the result alone would not be understood.
    pub(super) note: Option<String>,
    pub(super) run_id: Option<RunId>,
    pub(super) success: bool,
    pub(super) suspended: bool,
    /// What goes to stdout.
    text: String,
    /// The call that waits for a person.
    pub(super) waits_for: Option<String>,
}

impl RunResult {
    /// The result as those terms want it printed.
    pub(super) fn of(terms: &Terms, result: &AgentResult, is_recorded: bool) -> Self {
        let ending = if is_recorded {
            Ending::Recorded
        } else {
            Ending::Own
        };
        Self::labelled(terms, result, label(result), ending)
    }

    /// That of a run which could not be gone on with; `help` is what may help.
    pub(super) fn of_refused(terms: &Terms, result: &AgentResult, help: Option<&str>) -> Self {
        let refused = Self::labelled(terms, result, NOT_RESUMED, Ending::Refused);
        match help {
            Some(help) if !refused.is_document => Self {
                text: format!("{}        {}\n", refused.text, line(help)),
                ..refused
            },
            _ => refused,
        }
    }

    fn labelled(terms: &Terms, result: &AgentResult, label: &str, ending: Ending) -> Self {
        let app = &terms.app;
        let is_document = terms.json || !app.screen.is_shown();
        let (text, note) = if is_document {
            // Strings, numbers and words only: serialising a result cannot fail.
            let document = serde_json::to_string(result).unwrap_or_default();
            (format!("{document}\n"), waiting_note(app, result))
        } else {
            (lines_for_people(app, result, (label, ending)), None)
        };
        Self {
            class: result.outcome.map(|outcome| outcome.class),
            ending,
            entries: result.entries,
            is_document,
            label: label.to_owned(),
            note,
            run_id: waiting_run(result)
                .map(|(_, waiting)| waiting)
                .or(result.run_id.as_ref())
                .cloned(),
            success: result.success,
            suspended: result.is_suspended(),
            text,
            waits_for: result.waits_for.as_ref().map(called),
        }
    }

    /// That of a workflow, which is a document of its own.
    pub(super) fn of_workflow(terms: &Terms, result: &WorkflowResult, ending: Ending) -> Self {
        let app = &terms.app;
        let is_document = terms.json || !app.screen.is_shown();
        let (success, run_id) = (result.is_success(), result.run_id());
        let awaited = result.awaited();
        let label = match (result.outcome(), &awaited) {
            (Some(outcome), _) => outcome.class.as_str(),
            (None, Some(_)) => "waiting for approval",
            (None, None) => "suspended",
        };
        let answer = awaited
            .as_ref()
            .map(|(waiting, _)| how_to_answer(app, waiting));
        let (text, note) = if is_document {
            // Strings, numbers and words only: serialising a result cannot fail.
            let document = serde_json::to_string(result).unwrap_or_default();
            let note = awaited.as_ref().zip(answer).map(|((waiting, call), answer)| {
                format!("note: run {waiting}, below workflow {run_id}, waits for an approval of {call}; {answer}\n")
            });
            (format!("{document}\n"), note)
        } else {
            let recorded = if ending == Ending::Recorded {
                AS_RECORDED
            } else {
                ""
            };
            let what = match (&awaited, success, result.outcome()) {
                (Some((_, call)), ..) => call.clone(),
                (None, true, _) => first_line(result.output().trim()),
                (None, false, Some(_)) => result.why(),
                (None, false, None) => String::new(),
            };
            let words = [
                label,
                run_id.as_str(),
                recorded,
                &seconds(result.size().1),
                &what,
            ];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let text = line(&words.join("  "));
            let style = match (success, result.outcome()) {
                (true, _) => Style::Good,
                (false, None) => Style::Bold,
                (false, Some(_)) => Style::Bad,
            };
            let text = text.replacen(label, &app.screen.paint_out(style, label), 1);
            let answer = answer.map(|answer| format!("        {answer}\n"));
            (format!("{text}\n{}", answer.unwrap_or_default()), None)
        };
        Self {
            class: None,
            ending,
            entries: result.size().0,
            is_document,
            label: label.to_owned(),
            note,
            run_id: Some(
                awaited
                    .as_ref()
                    .map_or(run_id, |(waiting, _)| waiting)
                    .clone(),
            ),
            success,
            suspended: result.outcome().is_none(),
            text,
            waits_for: awaited.map(|(_, call)| call),
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
fn label(result: &AgentResult) -> &'static str {
    match result.outcome {
        Some(outcome) => outcome.class.as_str(),
        None if result.waits_for.is_some() => "waiting for approval",
        None if result.is_suspended() => "suspended",
        None if result.run_id.is_none() => "not begun",
        None => "broken off",
    }
}

/// One line of a terminal, or more where the run did not succeed: its reason is whole. Below it what to type, where the run waits for a person.
fn lines_for_people(app: &App, result: &AgentResult, (label, ending): (&str, Ending)) -> String {
    let mut words = vec![label.to_owned()];
    if let Some(run_id) = &result.run_id {
        words.push(run_id.to_string());
        words.extend((ending == Ending::Recorded).then(|| AS_RECORDED.to_owned()));
        words.push(seconds(result.counters.elapsed_ms));
        if result.counters.cost_micro_usd > 0 {
            words.push(dollars(result.counters.cost_micro_usd));
        }
    }
    let report = result.report_text().trim();
    let is_whole = !result.success && !result.is_suspended();
    words.push(match &result.waits_for {
        Some(awaited) => called(awaited),
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
    match waiting_run(result) {
        Some((_, run_id)) => format!("{text}\n        {}\n", how_to_answer(app, run_id)),
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

/// What stderr says of a run that waits for a person, where stdout has documents.
fn waiting_note(app: &App, result: &AgentResult) -> Option<String> {
    let (awaited, run_id) = waiting_run(result)?;
    Some(format!(
        "note: run {run_id} waits for an approval of {}; {}\n",
        called(awaited),
        how_to_answer(app, run_id)
    ))
}

/// The call that waits, and its run, which may stand below the one of the result.
fn waiting_run(result: &AgentResult) -> Option<(&AwaitedApproval, &RunId)> {
    let awaited = result.waits_for.as_ref()?;
    let run_id = awaited.run_id.as_ref().or(result.run_id.as_ref())?;
    Some((awaited, run_id))
}

fn called(awaited: &AwaitedApproval) -> String {
    format!("call {}, {}", awaited.call, line(&awaited.name))
}

fn how_to_answer(app: &App, run_id: &RunId) -> String {
    format!(
        "answer it with {}, then {} goes on",
        approve_hint(app, run_id, run_id.as_str()),
        app.hint("resume --all")
    )
}
