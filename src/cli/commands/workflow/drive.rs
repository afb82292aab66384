//! Runs a workflow, or goes on with one, with signals beside it. Decides nothing about it.

use std::cell::RefCell;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::ended::WorkflowResult;
use super::host::Host;
use super::recorded::{recorded_result, use_of_steps};
use crate::agent::WorkflowView;
use crate::cli::commands::drive::{LeavingArgs, Live, keep_run};
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::{CliError, ContractFault, SystemFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::panics::caught;
use crate::cli::context::runtime::runtime;
use crate::cli::context::signals::{Signal, Signals};
use crate::cli::context::workflow_entries::{each_entry, view_of};
use crate::contract::WorkflowSpec;
use crate::driver::{
    self, ReopenedWorkflow, WorkflowBegin, WorkflowFinished, drive_workflow, new_workflow,
    random_run_id, redacted_text, reopen_workflow,
};
use crate::message::RunId;
use crate::session::Control;
use crate::store::{Durability, Store};

/// How long the process waits for file operations that were given up.
const LINGER: Duration = Duration::from_secs(1);

/// How a workflow is driven.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct WorkflowJob {
    pub(in crate::cli) durability: Durability,
    pub(in crate::cli) json: bool,
    pub(in crate::cli) leaving: LeavingArgs,
}

/// Begins a workflow, and drives it to its end.
pub(in crate::cli) fn run_workflow(
    app: &App,
    file: &ContractFile,
    input: Option<String>,
    run_id: Option<RunId>,
    job: WorkflowJob,
) -> Result<Exit, CliError> {
    let spec = file.read_workflow(app)?;
    let store = app.open_store(job.durability)?;
    let run_id = match run_id {
        Some(run_id) => run_id,
        None => random_run_id("")?,
    };
    let input = input.or_else(|| spec.input.clone()).unwrap_or_default();
    let input = redacted(app, file, &spec, &run_id, &input)?;
    let definition = spec.definition.clone();
    let invocation = Some(file.invocation());
    let begin = new_workflow(&store, definition, input, run_id, invocation)?;
    drive(
        app,
        file,
        &spec,
        &store,
        begin,
        WorkflowView::default(),
        job,
    )
}

/// Goes on with a workflow where its transcript ends, or reports its recorded result.
pub(in crate::cli) fn resume_workflow(
    app: &App,
    run_id: &RunId,
    job: WorkflowJob,
) -> Result<Exit, CliError> {
    if let Some(result) = recorded_result(app, run_id)? {
        app.screen
            .write_err("note: the workflow had ended; this is its recorded result\n");
        return result.report(app, job.json);
    }
    let store = app.open_store(job.durability)?;
    let reopened = reopen_workflow(&store, run_id)?;
    let view = view_of(&mut store.reader()?, run_id)?;
    go_on(app, &store, run_id, reopened, view, job)
}

/// Begins a workflow as another one did, up to and with that entry, and drives it to its end.
pub(in crate::cli) fn fork_workflow(
    app: &App,
    of: &RunId,
    at: u64,
    run_id: Option<RunId>,
    job: WorkflowJob,
) -> Result<Exit, CliError> {
    let store = app.open_store(job.durability)?;
    let run_id = match run_id {
        Some(run_id) => run_id,
        None => random_run_id("")?,
    };
    let mut view = WorkflowView::default();
    each_entry(&mut store.reader()?, of, |_, action, event| {
        if action.seq <= at {
            view.take(action, event);
        }
        Ok(())
    })?;
    let forked = driver::fork_workflow(&store, of, at, run_id)?;
    go_on(app, &store, of, forked, view, job)
}

/// Goes on under the file that the workflow was begun with.
fn go_on(
    app: &App,
    store: &Store,
    run_id: &RunId,
    reopened: ReopenedWorkflow,
    view: WorkflowView,
    job: WorkflowJob,
) -> Result<Exit, CliError> {
    let invocation = reopened.invocation().cloned();
    let file = ContractFile::of_run(app, invocation, None, Vec::new());
    let file = file.ok_or_else(|| ContractFault::NoContractFile {
        run_id: run_id.clone(),
    })?;
    let spec = file.read_workflow(app)?;
    let begin = reopened.under(&spec.definition)?;
    drive(app, &file, &spec, store, begin, view, job)
}

/// What the workflow is given, as its steps' runs would record it.
fn redacted(
    app: &App,
    file: &ContractFile,
    spec: &WorkflowSpec,
    run_id: &RunId,
    input: &str,
) -> Result<String, CliError> {
    let Some(contract) = spec.contract.clone() else {
        return Ok(input.to_owned());
    };
    let request = file.request(app, contract, app.redaction_key()?);
    let cancel = CancellationToken::new();
    let text = runtime()?.block_on(redacted_text(&request, run_id, input, &cancel));
    text.map_err(|fault| file.located(fault))
}

fn drive(
    app: &App,
    file: &ContractFile,
    spec: &WorkflowSpec,
    store: &Store,
    begin: WorkflowBegin,
    view: WorkflowView,
    job: WorkflowJob,
) -> Result<Exit, CliError> {
    let host = RefCell::new(Host {
        app,
        file,
        live: Live::accounting(app, job.durability)?,
        run_id: begin.run_id().clone(),
        spec,
        store,
        view,
    });
    let runtime = runtime()?;
    let driven = caught(|| runtime.block_on(with_signals(app, begin, store, &host, job)));
    runtime.shutdown_timeout(LINGER);
    let finished = driven?;
    let run_id = finished.workflow.started().run_id.clone();
    let output = finished.workflow.output();
    let mut view = host.into_inner().view;
    use_of_steps(&mut view, Some(&mut store.reader()?))?;
    let steps: Vec<RunId> = view
        .steps
        .iter()
        .filter_map(|step| step.run_id.clone())
        .collect();
    let exit = WorkflowResult::of(run_id, finished.head, output, view).report(app, job.json)?;
    for step in &steps {
        keep_run(app, step)?;
    }
    Ok(exit)
}

async fn with_signals(
    app: &App,
    begin: WorkflowBegin,
    store: &Store,
    host: &RefCell<Host<'_>>,
    job: WorkflowJob,
) -> Result<WorkflowFinished, CliError> {
    let mut signals = Signals::listen().map_err(|fault| SystemFault::Runtime {
        reason: fault.to_string(),
    })?;
    let (control, asked) = mpsc::channel(8);
    let grace = Duration::from_secs(job.leaving.grace);
    let mut driving = pin!(drive_workflow(begin, store, host, asked, grace));
    let mut interrupts = 0_u32;
    loop {
        let ask = tokio::select! {
            biased;
            finished = &mut driving => return Ok(finished?),
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
