//! A workflow that can be driven: its file, what that says, and where it begins. Drives nothing.

use tokio_util::sync::CancellationToken;

use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::service::Service;
use crate::workflow::check::check_steps;
use crate::workflow::ended::WorkflowResult;
use crate::workflow_entries::{each_entry, view_of};
use monolith_core::agent::WorkflowView;
use monolith_core::contract::{FileTrust, WorkflowSpec};
use monolith_core::message::RunId;
use monolith_core::replay::ForkFault;
use monolith_host::driver::{
    self, ReopenedWorkflow, WorkflowBegin, new_workflow, random_run_id, redacted_text,
    reopen_workflow,
};
use monolith_host::store::Store;

/// A workflow that can be driven.
pub struct Ready {
    /// The place at which it begins.
    pub begin: WorkflowBegin,
    /// The file of the workflow.
    pub file: ContractFile,
    /// The files that were trusted.
    pub files: Vec<FileTrust>,
    /// Runs of ended steps that are not in the store any more.
    pub missing: Vec<RunId>,
    /// The workflow as it was read.
    pub spec: WorkflowSpec,
    /// The record of it.
    pub view: WorkflowView,
}

impl Ready {
    /// A new one. Its agents and the contracts of its steps are checked before anything is written.
    pub async fn new(
        service: &Service,
        store: &Store,
        file: ContractFile,
        (input, run_id): (Option<String>, Option<RunId>),
    ) -> Result<Self, ServiceError> {
        let spec = file.read_workflow(service)?;
        Box::pin(check_steps(service, &file, &spec)).await?;
        let files = file.judge_workflow(service, &spec)?;
        let run_id = match run_id {
            Some(run_id) => run_id,
            None => random_run_id("")?,
        };
        let input = input.or_else(|| spec.input.clone()).unwrap_or_default();
        let input = redacted(service, &file, &spec, (&run_id, &input)).await?;
        let invocation = Some(file.invocation(files.clone()));
        let begin = new_workflow(store, spec.definition.clone(), input, run_id, invocation)?;
        Ok(Self {
            begin,
            file,
            files,
            missing: Vec::new(),
            spec,
            view: WorkflowView::default(),
        })
    }

    /// Returns one of the store, at the end of its transcript, or as it was left if a process that resumes it would only leave
    /// it again.
    pub fn resumed_or_left(
        service: &Service,
        store: &Store,
        run_id: &RunId,
    ) -> Result<Result<Self, WorkflowResult>, ServiceError> {
        let ready = Self::resumed(service, store, run_id)?;
        let next_steps = ready.begin.next_steps();
        let left = WorkflowResult::waiting(service, run_id, &next_steps)?;
        Ok(left.map_or(Ok(ready), Err))
    }

    fn resumed(service: &Service, store: &Store, run_id: &RunId) -> Result<Self, ServiceError> {
        let reopened = reopen_workflow(store, run_id, &service.environment)?;
        let mut reader = store.reader()?;
        let view = view_of(&mut reader, run_id)?;
        // It continues without them, and its tree does not verify.
        let mut missing = Vec::new();
        for step in view.steps.iter().filter_map(|step| step.run_id.as_ref()) {
            if reader.lineage(step)?.is_none() {
                missing.push(step.clone());
            }
        }
        let ready = Self::under_its_file(service, run_id, reopened, view)?;
        Ok(Self { missing, ..ready })
    }

    /// Another one, that begins as that one did up to and with that entry.
    pub fn forked(
        service: &Service,
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
        Self::under_its_file(service, of, forked, view)
    }

    /// Under the file that the workflow was begun with.
    fn under_its_file(
        service: &Service,
        run_id: &RunId,
        reopened: ReopenedWorkflow,
        view: WorkflowView,
    ) -> Result<Self, ServiceError> {
        let invocation = reopened.invocation().cloned();
        let file = ContractFile::of_run(service, invocation, None, Vec::new());
        let file = file.ok_or_else(|| ContractFault::NoContractFile {
            run_id: run_id.clone(),
        })?;
        let spec = file.read_workflow(service)?;
        let files = file.judge_workflow(service, &spec)?;
        let begin = reopened.under(&spec.definition)?;
        Ok(Self {
            begin,
            file,
            files,
            missing: Vec::new(),
            spec,
            view,
        })
    }
}

/// Redacts the workflow's input, as its steps' runs would record it.
async fn redacted(
    service: &Service,
    file: &ContractFile,
    spec: &WorkflowSpec,
    (run_id, input): (&RunId, &str),
) -> Result<String, ServiceError> {
    let Some(contract) = spec.contract.clone() else {
        return Ok(input.to_owned());
    };
    let request = file.request(service, contract, service.redaction_key()?);
    let cancel = CancellationToken::new();
    let text = redacted_text(&request, run_id, input, &cancel).await;
    text.map_err(|fault| file.located(fault))
}
