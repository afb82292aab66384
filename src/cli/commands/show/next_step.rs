//! What a person may type after a run was shown: go on with it, answer it, or find out why it ended so.

use super::shown_run::ShownRun;
use crate::context::app::App;
use monolith_core::kernel::Run;
use monolith_core::message::RunId;
use monolith_service::approval::ApprovalStatus;
use monolith_service::begun_below::is_continued;
use monolith_service::drive::lost_calls::LostCalls;
use monolith_service::drive::unanswered::approve_hint;
use monolith_service::error::ServiceError;
use monolith_service::run_status::RunStatus;
use monolith_service::service::DEMO_PREFIX;
use monolith_service::waiting_call::WaitingCall;

/// The commands for a run of the store; empty if there is nothing to do. `why` is set where it was asked why the run ended.
pub(super) fn next_step(app: &App, run: &ShownRun, why: bool) -> String {
    let Some(run_id) = run.view.run_id() else {
        return String::new();
    };
    let hint = |command: &str, more: &str| {
        let name = app.brief_name(run_id.as_str());
        app.hint(&format!("{command} {name}{more}"))
    };
    match run.view.outcome() {
        None => of_unfinished(app, run, run_id),
        Some(_) if why => String::new(),
        // The script of a demo has no more answers.
        Some(outcome) if outcome.class.is_success() && run_id.as_str().starts_with(DEMO_PREFIX) => {
            String::new()
        }
        Some(outcome)
            if outcome.class.is_success() && !is_continued(app, run_id, run.lineage.as_ref()) =>
        {
            String::new()
        }
        Some(outcome) if outcome.class.is_success() => {
            format!("\nContinue it: {}\n", hint("continue", " \"…\""))
        }
        Some(_) => format!("\nWhy it ended so: {}\n", hint("show", " --why")),
    }
}

fn of_unfinished(app: &App, run: &ShownRun, run_id: &RunId) -> String {
    let hint = |command: &str, more: &str| {
        app.hint(&format!(
            "{command} {}{more}",
            app.brief_name(run_id.as_str())
        ))
    };
    let machine = run.view.machine();
    let died = run.status == Some(RunStatus::Died);
    let is_spent = died && machine.is_some_and(Run::ends_if_resumed);
    let has_agents = !run.view.contract().agents.is_empty();
    let answer = match run.approval.map(ApprovalStatus::answer) {
        None if has_agents => answers(app, WaitingCall::answerable_below(app, run_id)),
        None => String::new(),
        Some(None) => format!(
            "Answer it: {}\n",
            approve_hint(app, run_id, &app.brief_name(run_id.as_str()))
        ),
        Some(Some(answer)) => format!("Its call is {answer}.\n"),
    };
    match run.status {
        Some(RunStatus::Died) => {
            let goes_on = app.goes_on_with(run_id);
            let goes_on = goes_on.unwrap_or_else(|_| run_id.clone());
            let goes_on = app.brief_name(goes_on.as_str());
            let resume = app.hint(&format!("resume {goes_on}"));
            let lost = machine.map(|machine| LostCalls::of(&run.view, machine, run.above.ends));
            let lost = lost.unwrap_or_default().with_below(app, &run.view, run_id);
            let lost: String = lost.iter().map(|lost| sentence(lost)).collect();
            let resume = if is_spent {
                let resumes = run.view.contract().max_resumes;
                format!("`max_resumes: {resumes}` allows no more: {resume} ends it")
            } else if run.above.ends {
                format!("A run above it ends: {resume} ends it, too")
            } else {
                format!("Go on with it: {resume}")
            };
            format!("{answer}{lost}{resume}\n")
        }
        Some(RunStatus::Running { .. }) => {
            format!("{answer}Watch it: {}\n", hint("show", " --follow"))
        }
        Some(RunStatus::Elsewhere) | None => answer,
    }
}

/// A line of its own.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(char::to_uppercase).into_iter().flatten();
    format!("{}{}.\n", first.collect::<String>(), rest.as_str())
}

/// The commands that answer these calls, which wait below a run. What does not read is named by `verify`.
fn answers(app: &App, waiting: Result<Vec<(RunId, WaitingCall)>, ServiceError>) -> String {
    let waiting = waiting.unwrap_or_default();
    let commands = waiting.iter().map(|(below, call)| {
        let approve = app.hint(&call.answering("approve", &app.brief_name(below.as_str())));
        format!("Answer call {} of {below}: {approve}\n", call.order.call)
    });
    commands.collect()
}
