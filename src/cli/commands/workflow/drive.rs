//! Runs or resumes a workflow while handling signals. Decides nothing about it.

use crate::commands::drive::Watched;
use monolith_service::drive::follower::Follower;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::commands::drive::{LeavingArgs, keep_step, unwritten};
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::signals::{Signal, Signals};
use crate::context::trust::trusting;
use monolith_core::contract::StepId;
use monolith_core::message::RunId;
use monolith_core::session::Control;
use monolith_host::driver::{StepTerms, judge_store};
use monolith_host::store::{Durability, Store};
use monolith_service::contract_file::ContractFile;
use monolith_service::drive::lost_calls::resume_notes_below;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::panics::caught;
use monolith_service::text::numbers::seconds;
use monolith_service::workflow::drive::{Under, driven};
use monolith_service::workflow::ended::WorkflowResult;
use monolith_service::workflow::ready::Ready;
use monolith_service::workflow::recorded::recorded_result;

/// Time that the process waits for file operations that were given up.
const LINGER: Duration = Duration::from_secs(1);

/// Options for driving a workflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkflowJob {
    pub(crate) durability: Durability,
    pub(crate) json: bool,
    pub(crate) leaving: LeavingArgs,
}

/// Begins a workflow, and drives it to its end.
pub(crate) fn run_workflow(
    app: &App,
    file: &ContractFile,
    input: Option<String>,
    run_id: Option<RunId>,
    job: WorkflowJob,
) -> Result<Exit, ServiceError> {
    if let Some(contract) = file.read_workflow(app)?.contract {
        judge_store(&file.request(app, contract, app.redaction_key()?))?;
    }
    let store = app.open_store(job.durability)?;
    let given = (input, run_id);
    let runtime = runtime()?;
    let ready = trusting(app, || {
        let ready = Ready::new(app, &store, file.clone(), given.clone());
        runtime.block_on(ready)
    })?;
    drive(app, &store, ready, job)
}

/// Resumes a workflow where its transcript ends, or reports its recorded result.
pub(crate) fn resume_workflow(
    app: &App,
    run_id: &RunId,
    job: WorkflowJob,
) -> Result<Exit, ServiceError> {
    if let Some(result) = recorded_result(app, run_id)? {
        app.screen
            .write_err("note: the workflow had already ended; this is its recorded result\n");
        return report(app, &result, job.json);
    }
    let store = app.open_store(job.durability)?;
    match trusting(app, || Ready::resumed_or_left(app, &store, run_id))? {
        Ok(ready) => {
            for step in &ready.missing {
                app.screen.write_err(&format!(
                    "warning: run {step}, a finished step of {run_id}, is no longer in this store\n"
                ));
            }
            drive(app, &store, ready, job)
        }
        Err(left) => report(app, &left, job.json),
    }
}

/// Begins a workflow as another one did, up to and with that entry, and drives it to its end.
pub(crate) fn fork_workflow(
    app: &App,
    of: &RunId,
    at: u64,
    run_id: Option<&RunId>,
    job: WorkflowJob,
) -> Result<Exit, ServiceError> {
    let store = app.open_store(job.durability)?;
    let ready = trusting(app, || {
        Ready::forked(app, &store, (of, at), run_id.cloned())
    })?;
    drive(app, &store, ready, job)
}

fn drive(app: &App, store: &Store, ready: Ready, job: WorkflowJob) -> Result<Exit, ServiceError> {
    let sessions = ready.file.sessions_of_steps(app, &ready.spec)?;
    let under = Under {
        environment: app.environment.clone(),
        is_watched: !app.accounting.quiet,
        live: Follower::accounting(app, Watched::of_app(app), None, job.durability)?,
        sessions: sessions.clone(),
        terms: StepTerms {
            grace: Duration::from_secs(job.leaving.grace),
            max_inferences: None,
        },
    };
    let workflow = ready.spec.definition.id.clone();
    let runtime = runtime()?;
    let driven = caught(|| runtime.block_on(with_signals(app, store, ready, under)));
    // What was aborted waits for no file operation.
    let is_aborted = driven.as_ref().is_ok_and(WorkflowResult::is_aborted);
    runtime.shutdown_timeout(if is_aborted { Duration::ZERO } else { LINGER });
    let result = driven?;
    let exit = report(app, &result, job.json)?;
    keep_steps(app, &workflow, &result, &sessions)?;
    Ok(exit)
}

/// Keeps of each step run what the caller wants kept of runs; `workflow` is the id of the definition, `sessions` the folder of snapshots
/// of each step.
pub(crate) fn keep_steps(
    app: &App,
    workflow: &impl Display,
    result: &WorkflowResult,
    sessions: &BTreeMap<StepId, PathBuf>,
) -> Result<(), ServiceError> {
    for (run_id, step) in result.step_runs() {
        let path = format!("{workflow}:{step}");
        let sessions = sessions.get(step).map(PathBuf::as_path);
        keep_step(app, (run_id, path), sessions)?;
    }
    Ok(())
}

async fn with_signals(
    app: &App,
    store: &Store,
    ready: Ready,
    under: Under,
) -> Result<WorkflowResult, ServiceError> {
    let mut signals = Signals::listen()?;
    let (control, asked) = mpsc::channel(8);
    let mut driving = pin!(driven(app, store, ready, under, asked));
    let mut interrupts = 0_u32;
    loop {
        let ask = tokio::select! {
            biased;
            finished = &mut driving => return finished,
            signal = signals.next() => match signal {
                Signal::Interrupt if interrupts == 0 => {
                    app.screen.note("stopping: the steps under way are brought to their end; Ctrl-C again ends them at once");
                    Control::Stop
                }
                Signal::Interrupt => {
                    app.screen.note("ending the workflow at once");
                    Control::Abort
                }
                Signal::Terminate => {
                    app.screen.note("suspending: calls in flight may still finish; a second signal exits at once");
                    Control::Suspend
                }
            },
        };
        if ask == Control::Stop {
            interrupts = interrupts.saturating_add(1);
        }
        // A full queue holds eight requests to end already.
        let _ = control.try_send(ask);
    }
}

/// Shows it; returns its exit code.
fn report(app: &App, result: &WorkflowResult, json: bool) -> Result<Exit, ServiceError> {
    let (screen, run_id) = (app.screen, &result.run_id);
    let time = seconds(result.elapsed_ms);
    let show = app.hint(&format!("show {run_id}"));
    match result.outcome {
        None => {
            let resume = app.hint(&format!("resume {run_id}"));
            let then = if result.waits_for.is_empty() {
                ""
            } else {
                "then "
            };
            // What does not read is named by `verify`.
            for lost in resume_notes_below(app, run_id).unwrap_or_default() {
                screen.write_err(&format!("note: {lost}\n"));
            }
            for call in &result.waits_for {
                screen.write_err(&format!("{time}  {}\n", call.in_words(app)));
            }
            let text = format!(
                "{time}  suspended   workflow {run_id}; {then}{resume} continues it, {show} shows its steps\n"
            );
            screen.write_err(&text);
        }
        Some(outcome) if result.success => {
            if !app.accounting.quiet {
                let text = format!("{time}  {outcome}   workflow {run_id}; {show}\n");
                screen.write_err(&text);
            }
        }
        Some(outcome) => {
            let message = format!("workflow {run_id}: {outcome}: {}", result.why());
            screen.fault(&message, Some(&format!("{show} --why")));
        }
    }
    let written = if json {
        screen.answer_json(result)
    } else if result.success {
        let answer = result.output.trim_end_matches('\n');
        screen.answer(&format!("{answer}\n"))
    } else {
        Ok(())
    };
    written.map_err(|fault| unwritten(&fault, Some(run_id)))?;
    Ok(Exit(result.exit_code))
}
