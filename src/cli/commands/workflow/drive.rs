//! Runs a workflow, or goes on with one, with signals beside it. Decides nothing about it.

use crate::commands::drive::Watched;
use monolith_service::drive::approvers::Approvers;
use monolith_service::drive::approvers::LOOK_EVERY;
use monolith_service::drive::follower::Follower;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::ended::WorkflowResult;
use super::host::Host;
use super::ready::Ready;
use super::waiting::AwaitedCall;
use crate::commands::drive::{LeavingArgs, keep_step};
use crate::commands::workflow::recorded::recorded_result;
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::signals::{Signal, Signals};
use monolith_core::contract::StepId;
use monolith_core::message::RunId;
use monolith_core::session::Control;
use monolith_host::driver::{
    Environment, StepTerms, Waiting, blocking, drive_workflow, judge_store,
};
use monolith_host::store::{Durability, Store};
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::panics::caught;
use monolith_service::workflow::step_files::Files;
use monolith_service::workflow::usage::use_of_steps;

/// How many requests may wait for a workflow.
const CONTROLS: usize = 8;
/// How long the process waits for file operations that were given up.
const LINGER: Duration = Duration::from_secs(1);

/// How a workflow is driven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkflowJob {
    pub(crate) durability: Durability,
    pub(crate) json: bool,
    pub(crate) leaving: LeavingArgs,
}

/// Begins a workflow, and drives it to its end.
pub(crate) fn run_workflow(
    app: &App,
    file: ContractFile,
    input: Option<String>,
    run_id: Option<RunId>,
    job: WorkflowJob,
) -> Result<Exit, ServiceError> {
    if let Some(contract) = file.read_workflow(app)?.contract {
        judge_store(&file.request(app, contract, app.redaction_key()?))?;
    }
    let store = app.open_store(job.durability)?;
    let given = (input, run_id);
    let ready = runtime()?.block_on(Ready::new(app, &store, file, given))?;
    drive(app, &store, ready, job)
}

/// Goes on with a workflow where its transcript ends, or reports its recorded result.
pub(crate) fn resume_workflow(
    app: &App,
    run_id: &RunId,
    job: WorkflowJob,
) -> Result<Exit, ServiceError> {
    if let Some(result) = recorded_result(app, run_id)? {
        app.screen
            .write_err("note: the workflow had ended; this is its recorded result\n");
        return result.report(app, job.json);
    }
    let store = app.open_store(job.durability)?;
    match Ready::resumed_or_left(app, &store, run_id)? {
        Ok(ready) => drive(app, &store, ready, job),
        Err(left) => left.report(app, job.json),
    }
}

/// Begins a workflow as another one did, up to and with that entry, and drives it to its end.
pub(crate) fn fork_workflow(
    app: &App,
    of: &RunId,
    at: u64,
    run_id: Option<RunId>,
    job: WorkflowJob,
) -> Result<Exit, ServiceError> {
    let store = app.open_store(job.durability)?;
    let ready = Ready::forked(app, &store, (of, at), run_id)?;
    drive(app, &store, ready, job)
}

fn drive(app: &App, store: &Store, ready: Ready, job: WorkflowJob) -> Result<Exit, ServiceError> {
    let sessions = ready.file.sessions_of_steps(app, &ready.spec)?;
    let under = Under {
        environment: app.environment.clone(),
        leaving: job.leaving,
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
    let exit = result.report(app, job.json)?;
    keep_steps(app, &workflow, &result, &sessions)?;
    Ok(exit)
}

/// Keeps of each step run what the caller wants kept of runs; `workflow` is the id of the definition, `sessions` the folder of snapshots
/// of each step.
pub(super) fn keep_steps(
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

/// What a workflow is driven under, beside its file.
pub(super) struct Under {
    pub(super) environment: Environment,
    pub(super) leaving: LeavingArgs,
    /// Whether a line says of each step that it begins and ends.
    pub(super) is_watched: bool,
    /// What accounts for its step runs.
    pub(super) live: Follower,
    /// The folder of snapshots of each step, where the layers of its contract name one.
    pub(super) sessions: BTreeMap<StepId, PathBuf>,
    pub(super) terms: StepTerms,
}

/// Drives a workflow to its end, or until it is left.
pub(super) async fn driven(
    app: &App,
    store: &Store,
    ready: Ready,
    under: Under,
    control: mpsc::Receiver<Control>,
) -> Result<WorkflowResult, ServiceError> {
    let Ready {
        begin,
        file,
        files,
        spec,
        view,
    } = ready;
    let Under { leaving, live, .. } = &under;
    let (_leaving, live) = (*leaving, live.clone());
    let host = Mutex::new(Host {
        files: Arc::new(Files {
            service: app.during_a_run(),
            environment: under.environment,
            file,
            spec,
            store: store.clone(),
            trusted: files,
            workflow: begin.run_id().clone(),
        }),
        is_watched: under.is_watched,
        is_verbose: app.accounting.verbose,
        screen: app.screen,
        live: live.clone(),
        sessions: under.sessions,
        view,
    });
    let (sender, controls) = mpsc::channel(CONTROLS);
    let (waiting, report) = Waiting::alone();
    // Its futures are large.
    let terms = (under.terms, report);
    let driving = Box::pin(drive_workflow(begin, store, &host, controls, terms));
    let approvers = Approvers::among_many(store, &live);
    let finished = answered(driving, approvers, &waiting, (control, sender)).await?;
    let host = host.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (app, store, mut view) = (app.clone(), store.clone(), host.view);
    // What each step run used is read from the store, and so is each run that waits.
    blocking(move || {
        use_of_steps(&mut view, Some(&mut store.reader()?))?;
        let run_id = finished.workflow.started().run_id.clone();
        let waits_for = if finished.workflow.outcome().is_none() {
            AwaitedCall::answerable(&app, &run_id)?
        } else {
            Vec::new()
        };
        let output = finished.workflow.output();
        let result = WorkflowResult::of(run_id, finished.head, output, view);
        Ok(result.waiting_for(waits_for))
    })
    .await
}

/// Drives it, while answers are handed to its steps and what it is asked for is handed on.
async fn answered<T>(
    mut driving: impl Future<Output = T> + Unpin,
    mut approvers: Approvers<'_>,
    waiting: &Waiting,
    (mut asked, control): (mpsc::Receiver<Control>, mpsc::Sender<Control>),
) -> T {
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let ask = tokio::select! {
            biased;
            finished = &mut driving => return finished,
            Some(ask) = asked.recv() => Some(ask),
            _ = tick.tick() => approvers.look(waiting.of_all(1)).await,
        };
        if let Some(ask) = ask {
            approvers.hand(ask, &control);
        }
    }
}

async fn with_signals(
    app: &App,
    store: &Store,
    ready: Ready,
    under: Under,
) -> Result<WorkflowResult, ServiceError> {
    let mut signals = Signals::listen().map_err(|fault| SystemFault::Runtime {
        reason: fault.to_string(),
    })?;
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
                    app.screen.note("suspending: what is in flight may still end; a second signal leaves at once");
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
