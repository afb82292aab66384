//! A workflow among the runs of a list: begun, or gone on with, and what it comes to. Does not know the others.

use monolith_service::drive::follower::Follower;
use std::sync::Arc;
use std::time::Duration;

use super::drive::keep_steps;
use crate::commands::drive::LeavingArgs;
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_host::driver::{StepTerms, Worker, blocking};
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::workflow::drive::{Under, driven};
use monolith_service::workflow::ended::WorkflowResult;
use monolith_service::workflow::ready::Ready;

/// What a workflow of a list is.
pub(crate) enum ListedWorkflow {
    /// A new one: its file, its input, its name.
    New(Box<ContractFile>, Option<String>, Option<RunId>),
    /// One of the store.
    Recorded(RunId),
}

/// Begins it, or goes on with it, to its end or until it is left. One that waits for a person who has not answered stays as it is.
pub(crate) async fn workflow_among_many(
    app: &App,
    mut worker: Worker,
    listed: ListedWorkflow,
    live: Follower,
    leaving: LeavingArgs,
) -> Result<WorkflowResult, ServiceError> {
    let store = Arc::clone(worker.store());
    let ready = match listed {
        ListedWorkflow::New(file, input, run_id) => {
            Box::pin(Ready::new(app, &store, *file, (input, run_id))).await?
        }
        ListedWorkflow::Recorded(run_id) => {
            let (app, store) = (app.clone(), Arc::clone(&store));
            let reopen = move || Ready::resumed_or_left(&app, &store, &run_id);
            match blocking(reopen).await? {
                Ok(ready) => ready,
                Err(left) => return Ok(left),
            }
        }
    };
    let sessions = ready.file.sessions_of_steps(app, &ready.spec)?;
    let under = Under {
        environment: worker.environment(app.environment.clone()),
        is_watched: false,
        live,
        sessions: sessions.clone(),
        terms: StepTerms {
            grace: Duration::from_secs(leaving.grace),
            max_inferences: Some(worker.max_inferences()),
        },
    };
    let (app, workflow) = (app.clone(), ready.spec.definition.id.clone());
    let controls = worker.begin();
    let result = driven(&app, &store, ready, under, controls).await?;
    blocking(move || {
        keep_steps(&app, &workflow, &result, &sessions)?;
        Ok(result)
    })
    .await
}
