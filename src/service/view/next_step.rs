//! The commands that a person may type after a run was shown.

use super::shown_run::ShownRun;
use crate::approval::ApprovalStatus;
use crate::begun_below::is_continued;
use crate::drive::lost_calls::LostCalls;
use crate::drive::unanswered::approve_hint;
use crate::error::ServiceError;
use crate::run_status::RunStatus;
use crate::service::{DEMO_PREFIX, Service};
use crate::waiting_call::WaitingCall;
use monolith_core::kernel::Run;
use monolith_core::message::RunId;

/// Returns the commands for a run of the store, in sentences; empty if there is nothing to do. `why` is set if the reasons of its end are shown.
pub fn next_step(service: &Service, run: &ShownRun, why: bool) -> String {
    let Some(run_id) = run.view.run_id() else {
        return String::new();
    };
    let hint = |command: &str, more: &str| {
        let name = service.brief_name(run_id.as_str());
        service.hint(&format!("{command} {name}{more}"))
    };
    match run.view.outcome() {
        None => of_unfinished(service, run, run_id),
        Some(_) if why => String::new(),
        // The script of a demo has no more answers.
        Some(outcome) if outcome.class.is_success() && run_id.as_str().starts_with(DEMO_PREFIX) => {
            String::new()
        }
        Some(outcome)
            if outcome.class.is_success()
                && !is_continued(service, run_id, run.lineage.as_ref()) =>
        {
            String::new()
        }
        Some(outcome) if outcome.class.is_success() => {
            format!("\nContinue it: {}\n", hint("continue", " \"…\""))
        }
        Some(_) => format!("\nWhy it ended so: {}\n", hint("show", " --why")),
    }
}

fn of_unfinished(service: &Service, run: &ShownRun, run_id: &RunId) -> String {
    let hint = |command: &str, more: &str| {
        service.hint(&format!(
            "{command} {}{more}",
            service.brief_name(run_id.as_str())
        ))
    };
    let machine = run.view.machine();
    let died = run.status == Some(RunStatus::Died);
    let is_spent = died && machine.is_some_and(Run::ends_if_resumed);
    let has_agents = !run.view.contract().agents.is_empty();
    let answer = match run.approval.map(ApprovalStatus::answer) {
        None if has_agents => answers(service, WaitingCall::answerable_below(service, run_id)),
        None => String::new(),
        Some(None) => format!(
            "Answer it: {}\n",
            approve_hint(service, run_id, &service.brief_name(run_id.as_str()))
        ),
        Some(Some(answer)) => format!("Its call is {answer}.\n"),
    };
    match run.status {
        Some(RunStatus::Died) => {
            let resume = service.hint(&service.resume_words(run_id));
            let lost = machine.map(|machine| LostCalls::of(&run.view, machine, run.above.ends));
            let lost = lost
                .unwrap_or_default()
                .with_below(service, &run.view, run_id);
            let lost: String = lost.iter().map(|lost| sentence(lost)).collect();
            let resume = if is_spent {
                let resumes = run.view.contract().max_resumes;
                format!("`max_resumes: {resumes}` allows no more: {resume} ends it")
            } else if run.above.ends {
                format!("A parent run ends: {resume} ends it, too")
            } else {
                format!("Resume it: {resume}")
            };
            format!("{answer}{lost}{resume}\n")
        }
        Some(RunStatus::Running { .. }) => {
            format!("{answer}Watch it: {}\n", hint("show", " --follow"))
        }
        Some(RunStatus::Elsewhere) | None => answer,
    }
}

/// Returns a line with a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(char::to_uppercase).into_iter().flatten();
    format!("{}{}.\n", first.collect::<String>(), rest.as_str())
}

/// The commands that answer calls of children. A call that cannot be read is named by the verification.
fn answers(service: &Service, waiting: Result<Vec<(RunId, WaitingCall)>, ServiceError>) -> String {
    let waiting = waiting.unwrap_or_default();
    let commands = waiting.iter().map(|(below, call)| {
        let approve = service.hint(&call.answering("approve", &service.brief_name(below.as_str())));
        format!("Answer call {} of {below}: {approve}\n", call.order.call)
    });
    commands.collect()
}
