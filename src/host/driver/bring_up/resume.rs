//! A run that resumes where its transcript ends.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::prepared::{GRACE, Prepared, Resumption, Start};
use super::read_request::RunRequest;
use super::recorded::{BroughtUp, ExpectedWorkspace, Mismatch, Models, Recorded, bring_up_again};
use super::reopened::Reopened;
use crate::driver::ancestry::by_target;
use crate::driver::children::Below;
use crate::driver::clock::unix_ms;
use crate::driver::tasks::blocking;
use crate::driver::{DriverError, Environment};
use crate::tools::ToolServers;
use monolith_core::message::{BytesPerToken, RunId};
use monolith_core::session::{Input, RedactionKey, Redactor};

/// Brings up again what a reopened run needs. The contract is the stored one; `request` only supplies what a contract
/// does not hold: values of variables and headers, keys, the folder. Its task and name are the run's own.
///
/// # Errors
/// [`DriverError`] where the file, the workspace or the tool servers are not what the run was begun with. Nothing is
/// written, and the run stays as it is.
pub async fn prepare_resume(
    reopened: Reopened,
    request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let contract = Arc::clone(&reopened.contract);
    let shared = request.environment.shared().clone();
    let run_id = reopened.started.run_id.clone();
    let (recorded, environment) = (reopened.confinement.clone(), request.environment.clone());
    let root = run_id.clone();
    let check = move || recorded.check(&environment).map_err(DriverError::from);
    let checked = blocking(check).await;
    checked.map_err(|fault| fault.of_tree(root))?;
    let below = Below::of(&request, reopened.invocation());
    let providers = contract.targets.iter().map(|target| &target.provider);
    let before = by_target(providers, reopened.answered_before.clone());
    let own = &reopened.unfinished.answered;
    let played = before.iter().zip(own).map(|(a, b)| a.saturating_add(*b));
    let recorded = Recorded {
        contract: &contract,
        models: Some(Models {
            played: played.collect(),
            with_keys: contract.servers.values().all(|server| server.available),
        }),
        run_id: &run_id,
        started: &reopened.started,
        tools: true,
        workspace: ExpectedWorkspace::Recorded,
    };
    let up = Box::pin(bring_up_again(recorded, request, cancel)).await;
    let BroughtUp {
        addresses,
        backends,
        changed,
        confinement,
        counter,
        differing,
        redactor,
        servers,
        tool_servers,
        ..
    } = up.map_err(|mismatch| fault_of(mismatch, &run_id))?;
    let first = Input::Resumed {
        addresses,
        bring_up: differing,
        confinement,
        tool_servers,
        tools_changed: changed,
        unix_ms: unix_ms(),
    };
    let start = reopened.start(first, false);
    Ok(Prepared {
        below,
        backends,
        contract,
        counter,
        grace: GRACE,
        max_inferences: None,
        redactor,
        run_id,
        servers,
        shared,
        start,
        waiting: None,
    })
}

/// Ends a run below one that has ended, under the contract that is stored. Neither its file nor models nor tools are needed for that, and
/// what its runs below have reported was redacted by them.
pub fn prepare_end(reopened: Reopened, environment: &Environment, key: &RedactionKey) -> Prepared {
    let contract = Arc::clone(&reopened.contract);
    let shared = environment.shared().clone();
    let run_id = reopened.started.run_id.clone();
    let own = key.texts();
    let secrets = shared.secrets(own.iter().map(String::as_str), &contract.redact);
    let first = Input::Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        tool_servers: Vec::new(),
        tools_changed: Vec::new(),
        unix_ms: unix_ms(),
    };
    Prepared {
        below: Some(Below::to_end(environment, key)),
        backends: Vec::new(),
        counter: BytesPerToken::counter(),
        grace: GRACE,
        max_inferences: None,
        redactor: Arc::new(Redactor::salted(secrets, key.salt(&run_id))),
        run_id,
        servers: ToolServers::default(),
        shared,
        start: reopened.start(first, true),
        contract,
        waiting: None,
    }
}

impl Reopened {
    /// Returns the state for resuming the loop.
    fn start(self, first: Input, orphan: bool) -> Start {
        let unfinished = self.unfinished;
        Start::Resume(Box::new(Resumption {
            at_ms: unfinished.at_ms,
            first,
            head: unfinished.head,
            lock: self.lock,
            orphan,
            session: unfinished.session,
            started_unix_ms: self.started.started_unix_ms,
        }))
    }
}

/// Returns the error of a failed resume.
pub(super) fn fault_of(mismatch: Mismatch, run_id: &RunId) -> DriverError {
    let run_id = run_id.clone();
    match mismatch {
        Mismatch::Contract {
            agent,
            pointer,
            recorded,
            given,
        } => DriverError::OtherContract {
            agent: agent.map(String::into_boxed_str),
            file: None,
            run_id,
            pointer: pointer.into(),
            recorded: recorded.into(),
            given: given.into(),
        },
        Mismatch::Script { path, provider } => DriverError::OtherScript {
            path,
            provider,
            run_id,
        },
        Mismatch::Server(fault) => DriverError::ServerDown {
            root: Box::new(run_id.clone()),
            run_id,
            fault: Box::new(fault),
        },
        Mismatch::Tokenizer(reason) => DriverError::NoTokenizer { reason, run_id },
        Mismatch::Workspace(path) => DriverError::OtherWorkspace { run_id, path },
        Mismatch::Other(fault) => fault,
    }
}

/// Returns the error for a run that cannot continue another one.
pub(super) fn changed(mismatch: Mismatch, run_id: &RunId) -> DriverError {
    let run_id = run_id.clone();
    match mismatch {
        Mismatch::Contract {
            agent: _,
            pointer,
            recorded,
            given,
        } => DriverError::ChangedContract {
            has_sets: false,
            run_id,
            pointer: pointer.into(),
            recorded,
            given,
        },
        Mismatch::Script { path, provider } => DriverError::ChangedScript {
            path,
            provider,
            run_id,
        },
        other => fault_of(other, &run_id),
    }
}
