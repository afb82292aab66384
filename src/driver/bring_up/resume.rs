//! A run that goes on where its transcript ends.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::prepared::{GRACE, Prepared, Resumption, Start};
use super::recorded::{BroughtUp, Mismatch, Models, Recorded, bring_up_again};
use super::reopened::Reopened;
use super::request::RunRequest;
use crate::contract::ExecutionContract;
use crate::driver::DriverError;
use crate::driver::ancestry::by_target;
use crate::driver::below::Below;
use crate::message::RunId;
use crate::session::Input;

/// Brings up again what a reopened run needs. The contract is the stored one; `request` only supplies what a contract
/// does not hold: values of variables and headers, keys, the folder. Its task and name are the run's own.
///
/// # Errors
/// [`DriverError`] where the file, the workspace or the tool servers are not what the run was begun with. Nothing is
/// written, and the run stays as it is.
pub(crate) async fn prepare_resume(
    reopened: Reopened,
    request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let orphan = reopened.is_orphan();
    Box::pin(prepared_again(reopened, request, (orphan, false), cancel)).await
}

/// The same for a run below one that has ended: it is to be ended, for which it needs neither models nor tools.
pub(in crate::driver) async fn prepare_end(
    reopened: Reopened,
    request: RunRequest,
) -> Result<Prepared, DriverError> {
    let cancel = CancellationToken::new();
    Box::pin(prepared_again(reopened, request, (true, true), &cancel)).await
}

async fn prepared_again(
    reopened: Reopened,
    request: RunRequest,
    (orphan, to_end): (bool, bool),
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let contract = Arc::clone(&reopened.contract);
    let shared = request.environment.shared().clone();
    let run_id = reopened.started.run_id.clone();
    let below = Below::of(&request, reopened.invocation());
    let providers = contract.targets.iter().map(|target| &target.provider);
    let before = by_target(providers, reopened.answered_before);
    let own = &reopened.unfinished.answered;
    let played = before.iter().zip(own).map(|(a, b)| a.saturating_add(*b));
    let recorded = Recorded {
        contract: &contract,
        models: (!to_end).then(|| Models {
            played: played.collect(),
            with_keys: contract.servers.values().all(|server| server.available),
        }),
        run_id: &run_id,
        started: &reopened.started,
        tools: !to_end,
        unknown_workspace: false,
    };
    let up = Box::pin(bring_up_again(recorded, request, cancel)).await;
    let BroughtUp {
        addresses,
        backends,
        changed,
        counter,
        differing,
        redactor,
        servers,
        tool_servers,
        ..
    } = up.map_err(|mismatch| fault_of(mismatch, &run_id).of_agent(&contract))?;
    let unfinished = reopened.unfinished;
    let start = Start::Resume(Box::new(Resumption {
        at_ms: unfinished.at_ms,
        first: Input::Resumed {
            addresses,
            bring_up: differing,
            tool_servers,
            tools_changed: changed,
        },
        head: unfinished.head,
        lock: reopened.lock,
        orphan,
        session: unfinished.session,
        started_unix_ms: reopened.started.started_unix_ms,
    }));
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

impl DriverError {
    /// Names the agent whose file is another one now, where that is the difference.
    fn of_agent(mut self, recorded: &ExecutionContract) -> Self {
        if let Self::OtherContract { agent, pointer, .. } = &mut self
            && let Some(rest) = pointer.strip_prefix("/agents/")
        {
            let name = |step: &str| step.replace("~1", "/").replace("~0", "~");
            let mut steps = rest.split('/').map(name);
            let terms = recorded.agents.get(&steps.next().unwrap_or_default());
            let below = steps.nth(1);
            *agent = terms.map(|terms| match below {
                Some(file) => format!("{} ({file} below it)", terms.file).into(),
                None => terms.file.as_str().into(),
            });
        }
        self
    }
}

/// What keeps a run from being resumed.
pub(super) fn fault_of(mismatch: Mismatch, run_id: &RunId) -> DriverError {
    let run_id = run_id.clone();
    match mismatch {
        Mismatch::Contract {
            pointer,
            recorded,
            given,
        } => DriverError::OtherContract {
            agent: None,
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
            fault,
        },
        Mismatch::Tokenizer(reason) => DriverError::NoTokenizer { reason, run_id },
        Mismatch::Workspace(path) => DriverError::OtherWorkspace { run_id, path },
        Mismatch::Other(fault) => fault,
    }
}
