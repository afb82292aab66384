//! The end of a run for people and programs: how it ended, why, and what to type next.

use std::io;

use super::kept::keep;
use super::not_begun::{print_result, result_of};
use crate::context::app::App;
use crate::context::fault::show_error;
use crate::ui::screen::Style;
use monolith_core::kernel::AgentOutcome;
use monolith_core::message::RunId;
use monolith_core::view::RunView;
use monolith_host::telemetry::{AgentResult, AwaitedApproval, headline};
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::typed_at::TypedAt;
use monolith_service::drive::unanswered::approve_hint;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::remedy::{Commands, remedy_of};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{counted, seconds};

/// The indent of text about the end of a run.
const INDENT: &str = "        ";

/// Shows what a run came to.
pub(crate) fn report(
    app: &App,
    json: bool,
    outcome: Result<Ended, Broken>,
) -> Result<Exit, ServiceError> {
    let outcome = outcome.and_then(Ended::agreeing);
    match outcome.and_then(|ended| Ok(ended.naming_call_below(app)?)) {
        Ok(ended) => {
            let exit = Exit(ended.result.exit_code);
            let mut written = Ok(());
            if json {
                written = app.screen.answer_json(&ended.result);
            }
            if !app.screen.is_watched() && !app.accounting.quiet && ended.result.success {
                report_outcome(app, &ended);
            }
            report_end(app, &ended, TypedAt::Shell);
            report_summary(app, &ended.result);
            if !json && !ended.shown && ended.result.success {
                let answer = ended.result.report_text().trim_end_matches('\n');
                written = app.screen.answer(&format!("{answer}\n"));
            }
            keep(app, &ended)?;
            written.map_err(|fault| unwritten(&fault, ended.result.run_id.as_ref()))?;
            Ok(exit)
        }
        Err(broken) => {
            match &broken.result {
                Some(result) if json => {
                    if let Err(fault) = app.screen.answer_json(result) {
                        show_error(app.screen, &broken.error);
                        return Err(unwritten(&fault, result.run_id.as_ref()));
                    }
                }
                None if json => print_result(app.screen, &broken.error),
                _ => {}
            }
            match &broken.result {
                Some(result) => report_summary(app, result),
                None => report_summary(app, &result_of(&broken.error)),
            }
            if broken.error.is_panic() {
                // The result is printed: the code that catches other panics must not print another.
                show_error(app.screen, &broken.error);
                return Ok(Exit::from(&broken.error));
            }
            Err(broken.error)
        }
    }
}

/// The error of an answer that could not be written; its run is in the store.
pub(crate) fn unwritten(fault: &io::Error, run_id: Option<&RunId>) -> ServiceError {
    let reason = fault.to_string();
    match run_id.cloned() {
        Some(run_id) => SystemFault::AnswerUnwritten { reason, run_id }.into(),
        None => io::Error::new(fault.kind(), reason).into(),
    }
}

/// The exit tag and what was used, where somebody asks for it.
fn report_summary(app: &App, result: &AgentResult) {
    if app.accounting.verbose {
        for summary_line in result.summary() {
            let painted = app.screen.paint_log(&summary_line);
            app.screen.write_err(&format!("{painted}\n"));
        }
    }
}

/// Prints one line to a pipe's stderr on how a successful run ended. After a failed run, the pipe gets the error.
fn report_outcome(app: &App, ended: &Ended) {
    if let Some(end) = end_line(ended) {
        app.screen.write_err(&format!("{end}\n"));
    }
}

/// Returns a run's duration, its outcome, its id, and what is wrong with it although it succeeded.
fn end_line(ended: &Ended) -> Option<String> {
    let result = &ended.result;
    let (outcome, run_id) = (result.outcome?, result.run_id.as_ref()?);
    let time = seconds(result.counters.elapsed_ms);
    let flaw = ended.flaw().map(|flaw| format!("   {flaw}"));
    let flaw = flaw.unwrap_or_default();
    Some(format!("{time}  {outcome}   run {run_id}{flaw}"))
}

/// The end of one message of a chat: its answer where it is not on the screen yet, and how its run ended.
pub(crate) fn report_message(
    app: &App,
    ended: &Ended,
    typed_at: TypedAt<'_>,
) -> Result<(), ServiceError> {
    let (screen, result) = (app.screen, &ended.result);
    if result.success {
        if !ended.shown {
            let answer = result.report_text().trim_end_matches('\n');
            screen
                .answer(&format!("{answer}\n"))
                .map_err(|fault| unwritten(&fault, result.run_id.as_ref()))?;
        }
        // A person who talks to a model sees of the machine what is wrong, unless all of it is asked for.
        let verbose = app.accounting.verbose;
        let end = if verbose {
            end_line(ended)
        } else {
            ended.flaw()
        };
        if let Some(end) = end.filter(|_| verbose || screen.is_watched()) {
            screen.write_err(&format!("{}\n", screen.paint(Style::Dim, &end)));
        }
    } else {
        report_end(app, ended, typed_at);
    }
    report_summary(app, result);
    keep(app, ended)
}

/// The end of a run and what to type next: for a person who watches, and on failure for every caller.
pub(crate) fn report_end(app: &App, ended: &Ended, typed_at: TypedAt<'_>) {
    let result = &ended.result;
    let Some(run_id) = &result.run_id else {
        return;
    };
    let name = app.brief_name(run_id.as_str());
    if result.is_suspended() {
        let next = if ended.is_spent {
            format!("{} ends it", app.hint(&format!("resume {name}")))
        } else {
            next_of_suspended(app, result.waits_for.as_ref(), run_id)
        };
        let time = seconds(result.counters.elapsed_ms);
        for lost in ended.lost_calls.with_below(app, &ended.view, run_id) {
            app.screen.write_err(&format!("note: {lost}\n"));
        }
        let last_line = format!("{time}  suspended   run {run_id}; {next}\n");
        app.screen.write_err(&last_line);
        return;
    }
    let Some(outcome) = result.outcome else {
        return;
    };
    let why_hint = app.hint(&format!("show {name} --why"));
    let places = line(&ended.places.join(", "));
    let remedy = remedy_of(app, &ended.view, run_id, typed_at);
    let show = match typed_at {
        TypedAt::Chat(_) if app.screen.is_watched() => "/show".to_owned(),
        // The lines of a pipe are written before their answers are there.
        TypedAt::Chat(_) | TypedAt::Shell => with_withheld(app, &name),
    };
    let held_back = held_back(&ended.view, &show);
    if !app.screen.is_watched() {
        if let Some(error) = &result.error {
            let error = match headline(&ended.view) {
                Some((first, rest)) => &format!("{outcome}: {first}. {rest}"),
                None => error,
            };
            let remedy = remedy.map(|remedy| remedy.words());
            let places = (!places.is_empty()).then(|| format!("correct {places}"));
            let known = places.into_iter().chain(remedy).chain(held_back);
            let known: Vec<String> = known.collect();
            let help = if known.is_empty() {
                why_hint
            } else {
                format!("{}; more: {why_hint}", known.join("; "))
            };
            app.screen.fault(error, Some(&help));
        }
        return;
    }
    let style = if result.success {
        Style::Good
    } else {
        Style::Bad
    };
    let note = |text: &str| app.screen.note(&format!("{INDENT}{text}"));
    let (first, why) = match headline(&ended.view) {
        Some((first, rest)) => (line(&first), format!("{outcome}: {rest}")),
        None => (outcome.to_string(), result.report_text().to_owned()),
    };
    let first = app.screen.paint(style, &first);
    let time = seconds(result.counters.elapsed_ms);
    let decided = ended.view.decision().filter(|_| app.accounting.verbose);
    let predicate = decided.map(|decided| format!("   {}", decided.predicate));
    app.screen
        .note(&format!("{time}  {first}{}", predicate.unwrap_or_default()));
    if let Some(flaw) = ended.flaw().filter(|_| result.success) {
        note(&flaw);
    }
    if !result.success {
        note(&line(&why));
        if !places.is_empty() {
            note(&format!("at {places}"));
        }
        if let Some(remedy) = &remedy {
            note(&remedy.words());
        }
    }
    if let Some(held_back) = held_back {
        note(&held_back);
    }
    let changes_file = remedy.is_some_and(|remedy| remedy.changes_file);
    let next = match typed_at {
        _ if result.success => {
            let replay = app.hint(&format!("replay {name}"));
            both(app, &app.hint(&format!("show {name}")), &replay)
        }
        TypedAt::Chat(again) if changes_file => {
            let again = app.hint(again);
            format!("to continue under the corrected file, type /exit and run {again}")
        }
        TypedAt::Chat(_) => "/show shows what happened".to_owned(),
        // Without a remedy the next run would not begin either.
        TypedAt::Shell if outcome.class == AgentOutcome::FailedPreflight && !changes_file => {
            why_hint
        }
        TypedAt::Shell => {
            // A file that was corrected gives another contract, which is taken only where it is named.
            let file =
                changes_file.then(|| Commands::of_run(app, run_id, typed_at).into_contract_file());
            let file = file.flatten();
            let file = file.map(|file| format!(" --contract {file}"));
            let next = format!("continue {name} \"…\"{}", file.unwrap_or_default());
            both(app, &why_hint, &app.hint(&next))
        }
    };
    note(&next);
}

/// Two commands, on one line where both fit.
fn both(app: &App, one: &str, other: &str) -> String {
    let beside = format!("{one}   ·   {other}");
    if INDENT.len() + beside.chars().count() <= app.screen.width() {
        beside
    } else {
        format!("{one}\n{INDENT}{other}")
    }
}

/// Returns how to resume a suspended run. A child run may be the one that waits.
fn next_of_suspended(app: &App, waits_for: Option<&AwaitedApproval>, run_id: &RunId) -> String {
    let name = app.brief_name(run_id.as_str());
    let resume = app.hint(&format!("resume {name}"));
    let Some(awaited) = waits_for else {
        return format!("{resume} continues it");
    };
    let (waiting, place) = match &awaited.run_id {
        Some(below) => (below, " in a child run"),
        None => (run_id, ""),
    };
    let call = format!("call {} of {}{place}", awaited.call, line(&awaited.name));
    let approve = approve_hint(app, waiting, &app.brief_name(waiting.as_str()));
    let more = match awaited.more {
        0 => String::new(),
        1 => format!(" ({} has one more)", app.hint("approvals")),
        more => format!(" ({} has {more} more)", app.hint("approvals")),
    };
    format!("{approve} answers {call}{more}, then {resume} continues it")
}

/// The command that shows a run with the text that was held back.
pub(crate) fn with_withheld(app: &App, name: &str) -> String {
    app.hint(&format!("show {name} --withheld"))
}

/// Returns how much text the token gate withheld, why, and the command that prints it: `show`. Returns `None` if it withheld
/// nothing.
pub(crate) fn held_back(view: &RunView, show: &str) -> Option<String> {
    let bytes = view.held_back_bytes();
    let (were, them) = if bytes == 1 {
        ("was", "it")
    } else {
        ("were", "them")
    };
    let bytes = counted(bytes, "byte");
    (view.held_back_bytes() > 0).then(|| {
        format!(
            "{bytes} {were} withheld because no tool call had been validated yet; {show} prints {them}"
        )
    })
}
