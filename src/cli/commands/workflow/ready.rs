//! A workflow that can be driven: its file, what that says, and where it begins. Drives nothing.

use tokio_util::sync::CancellationToken;

use super::ended::WorkflowResult;
use crate::context::app::App;
use monolith_core::agent::WorkflowView;
use monolith_core::contract::{FileTrust, WorkflowSpec};
use monolith_core::message::RunId;
use monolith_core::replay::ForkFault;
use monolith_host::driver::{
    self, ReopenedWorkflow, WorkflowBegin, new_workflow, random_run_id, redacted_text,
    reopen_workflow,
};
use monolith_host::store::Store;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::workflow::check::check_steps;
use monolith_service::workflow_entries::{each_entry, view_of};

/// A workflow that can be driven.
pub(super) struct Ready {
    pub(super) begin: WorkflowBegin,
    pub(super) file: ContractFile,
    /// The files that were trusted.
    pub(super) files: Vec<FileTrust>,
    pub(super) spec: WorkflowSpec,
    /// What is recorded of it.
    pub(super) view: WorkflowView,
}

impl Ready {
    /// A new one. Its agents and the contracts of its steps are checked before anything is written.
    pub(super) async fn new(
        app: &App,
        store: &Store,
        file: ContractFile,
        (input, run_id): (Option<String>, Option<RunId>),
    ) -> Result<Self, ServiceError> {
        let spec = file.read_workflow(app)?;
        check_steps(app, &file, &spec).await?;
        let files = app.judge_workflow(&file, &spec)?;
        let run_id = match run_id {
            Some(run_id) => run_id,
            None => random_run_id("")?,
        };
        let input = input.or_else(|| spec.input.clone()).unwrap_or_default();
        let input = redacted(app, &file, &spec, (&run_id, &input)).await?;
        let invocation = Some(file.invocation(files.clone()));
        let begin = new_workflow(store, spec.definition.clone(), input, run_id, invocation)?;
        Ok(Self {
            begin,
            file,
            files,
            spec,
            view: WorkflowView::default(),
        })
    }

    /// One of the store, where its transcript ends, or as it was left where a process that goes on with it would only leave it again.
    pub(super) fn resumed_or_left(
        app: &App,
        store: &Store,
        run_id: &RunId,
    ) -> Result<Result<Self, WorkflowResult>, ServiceError> {
        let ready = Self::resumed(app, store, run_id)?;
        let next_steps = ready.begin.next_steps();
        let left = WorkflowResult::waiting(app, run_id, &next_steps)?;
        Ok(left.map_or(Ok(ready), Err))
    }

    fn resumed(app: &App, store: &Store, run_id: &RunId) -> Result<Self, ServiceError> {
        let reopened = reopen_workflow(store, run_id, &app.environment)?;
        let mut reader = store.reader()?;
        let view = view_of(&mut reader, run_id)?;
        // It goes on without them, and its tree does not verify.
        for step in view.steps.iter().filter_map(|step| step.run_id.as_ref()) {
            if reader.lineage(step)?.is_none() {
                app.screen.write_err(&format!(
                    "warning: run {step}, a step of {run_id} that had ended, is not in this store any more\n"
                ));
            }
        }
        Self::under_its_file(app, run_id, reopened, view)
    }

    /// Another one, that begins as that one did up to and with that entry.
    pub(super) fn forked(
        app: &App,
        store: &Store,
        (of, at): (&RunId, u64),
        run_id: Option<RunId>,
    ) -> Result<Self, ServiceError> {
        let run_id = match run_id {
            Some(run_id) => run_id,
            None => random_run_id("")?,
        };
        let mut view = WorkflowView::default();
        let mut last = 0;
        each_entry(&mut store.reader()?, of, |_, action, event| {
            last = action.seq;
            if action.seq <= at {
                view.take(action, event);
            }
            Ok(())
        })?;
        if at > last {
            return Err(ServiceError::Fork(ForkFault::NoSuchEntry {
                last,
                requested: at,
                run_id: of.clone(),
            }));
        }
        let forked = driver::fork_workflow(store, of, at, run_id)?;
        Self::under_its_file(app, of, forked, view)
    }

    /// Under the file that the workflow was begun with.
    fn under_its_file(
        app: &App,
        run_id: &RunId,
        reopened: ReopenedWorkflow,
        view: WorkflowView,
    ) -> Result<Self, ServiceError> {
        let invocation = reopened.invocation().cloned();
        let file = ContractFile::of_run(app, invocation, None, Vec::new());
        let file = file.ok_or_else(|| ContractFault::NoContractFile {
            run_id: run_id.clone(),
        })?;
        let spec = file.read_workflow(app)?;
        let files = app.judge_workflow(&file, &spec)?;
        let begin = reopened.under(&spec.definition)?;
        Ok(Self {
            begin,
            file,
            files,
            spec,
            view,
        })
    }
}

/// What the workflow is given, as its steps' runs would record it.
async fn redacted(
    app: &App,
    file: &ContractFile,
    spec: &WorkflowSpec,
    (run_id, input): (&RunId, &str),
) -> Result<String, ServiceError> {
    let Some(contract) = spec.contract.clone() else {
        return Ok(input.to_owned());
    };
    let request = file.request(app, contract, app.redaction_key()?);
    let cancel = CancellationToken::new();
    let text = redacted_text(&request, run_id, input, &cancel).await;
    text.map_err(|fault| file.located(fault))
}
