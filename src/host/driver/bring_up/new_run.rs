//! A run that begins: with a task, or with the conversation of another run.

use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use super::guard::recorded;
use super::handed_roots::Workspace;
use super::loaded::{Opening, intent_of, opening_of};
use super::prepared::{GRACE, Prepared, Start, random_run_id};
use super::read_request::{ReadRequest, RunRequest};
use super::recorded::{Mismatch, check_contract, pins_of};
use super::resume::changed;
use super::servers::{ServersToStart, Started};
use super::store_place::judge_store_place;
use super::unmet::not_offered;
use crate::driver::DriverError;
use crate::driver::ancestry::by_target;
use crate::driver::children::Below;
use crate::driver::clock::unix_ms;
use monolith_core::contract::{ExecutionContract, FactoryError, Label, TargetSpec, check_input};
use monolith_core::kernel::{ParentRun, RunStarted};
use monolith_core::message::{
    AgentMessage, BytesPerToken, Digest, Role, RunId, Scrubber as _, TokenCounter, ToolInvocation,
};
use monolith_core::replay::ForkPoint;
use monolith_core::session::{Redactor, Scrub};

/// Brings up what a run needs and makes its contract.
///
/// A tool server that does not come up is no error: the contract lists it as unavailable, and the run ends with a
/// transcript that says so. Tools are judged before keys.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run.
///
/// # Examples
/// ```
/// use monolith_host::driver::prepare;
/// use tokio_util::sync::CancellationToken;
/// # use monolith_core::contract::ContractSpec;
/// # use monolith_core::session::RedactionKey;
/// # use monolith_host::driver::{Environment, RunRequest};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let text = std::fs::read_to_string("../../contracts/demo.yaml")?;
/// # let spec = ContractSpec::parse("demo.yaml", &text, &[])?;
/// # let environment = Environment::new(|_| None);
/// # let key = RedactionKey::new([7; 32]);
/// # let request = RunRequest::new(spec, "../../contracts", environment, key);
/// let prepared = prepare(request, &CancellationToken::new()).await?;
/// assert_eq!(prepared.contract().tools.len(), 2);
/// prepared.close().await; // a run that is not begun after all
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn prepare(
    mut request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let task = request.spec.task.take();
    Box::pin(begin(request, Beginning::Task(task), cancel)).await
}

/// Brings up a step of a workflow: a run that begins with its task, which has those labels, and names the entry that begins it. `call`
/// is what a step that asks no model calls.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run.
pub(crate) async fn prepare_step(
    parent: ParentRun,
    labels: BTreeSet<Label>,
    call: Option<ToolInvocation>,
    mut request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let beginning = Beginning::Step {
        call,
        labels,
        parent,
        task: request.spec.task.take(),
    };
    Box::pin(begin(request, beginning, cancel)).await
}

/// A text as the run of that request would record it: without its secrets.
///
/// # Errors
/// [`DriverError`] where what the request names cannot be read.
pub async fn redacted_text(
    request: &RunRequest,
    run_id: &RunId,
    text: &str,
    cancel: &CancellationToken,
) -> Result<String, DriverError> {
    let found = ReadRequest::read(request, cancel).await?;
    let draft = found.draft();
    let guard = found.guard(draft.as_ref().ok())?;
    let redactor = guard.redactor(&request.spec, &request.redaction_key, run_id);
    Ok(redactor.text(text).into_owned())
}

/// Brings up a run that begins with the conversation of another one. The new run has separate budgets, its counters begin at
/// zero, and no proof of the other counts for it. `task` is added to the conversation; scripts resume after their last played
/// record.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run.
pub async fn prepare_fork(
    point: ForkPoint,
    task: Option<String>,
    request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let point = Box::new(point);
    let beginning = Beginning::Fork { point, task };
    Box::pin(begin(request, beginning, cancel)).await
}

/// Brings up a run that continues from the end of another one with a new message. It has separate budgets and a separate proof,
/// and its contract names the other's. The intent rules judge the message alone.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run; where the file is to be the one that the other run was begun with,
/// [`DriverError::ChangedContract`] if it gives another contract now.
pub async fn prepare_continuation(
    continuation: Continuation,
    request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let beginning = Beginning::Continuation(Box::new(continuation));
    Box::pin(begin(request, beginning, cancel)).await
}

/// Brings up the run of an agent's call, whose task has those labels. It has separate budgets and a separate proof. Its
/// contract names that of the parent, whose hash comes first.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run.
pub(in crate::driver) async fn prepare_delegated(
    (contract, parent): (Digest, ParentRun),
    labels: BTreeSet<Label>,
    mut request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let beginning = Beginning::Delegated {
        contract,
        labels,
        parent: Box::new(parent),
        task: request.spec.task.take(),
    };
    Box::pin(begin(request, beginning, cancel)).await
}

/// Brings up a run that begins with a conversation that was saved: no record of it is taken over, and the intent rules judge all that the user
/// said in it. The request's task comes after it.
///
/// # Errors
/// [`DriverError`] where no contract can be made, and so no run.
pub async fn prepare_loaded(
    saved: Vec<AgentMessage>,
    mut request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let task = request.spec.task.take().unwrap_or_default();
    Box::pin(begin(request, Beginning::Loaded { saved, task }, cancel)).await
}

/// A run that is to go on from the end of another one.
#[derive(Debug)]
pub struct Continuation {
    /// The contract of the other run.
    pub contract: ExecutionContract,
    /// The user's new message.
    pub message: String,
    /// The end of the other run.
    pub point: ForkPoint,
    /// True if the file must give the contract of the other run.
    pub same_contract: bool,
    /// The request without what the caller changes of the contract now: where that gives the contract of the other run, the changes
    /// are what the caller wants.
    pub without_changes: Option<Box<RunRequest>>,
}

/// With which conversation a run begins.
enum Beginning {
    /// With that of an ended run, and a message after it.
    Continuation(Box<Continuation>),
    /// With what the run above it wants done.
    Delegated {
        contract: Digest,
        labels: BTreeSet<Label>,
        parent: Box<ParentRun>,
        task: Option<String>,
    },
    /// With a conversation that was saved, and a task after it.
    Loaded {
        saved: Vec<AgentMessage>,
        task: String,
    },
    /// With a task.
    Task(Option<String>),
    /// With the task of a step of a workflow, or with its call.
    Step {
        call: Option<ToolInvocation>,
        labels: BTreeSet<Label>,
        parent: ParentRun,
        task: Option<String>,
    },
    /// With that of another run, and more of a task.
    Fork {
        point: Box<ForkPoint>,
        task: Option<String>,
    },
}

impl Beginning {
    /// Returns the task of the run; none if it is blank.
    fn intent(&self) -> Option<String> {
        let is_blank = |task: &String| task.trim().is_empty();
        let intent = match self {
            Self::Continuation(continuation) => Some(continuation.message.clone()),
            Self::Loaded { saved, task } => intent_of(saved, task),
            Self::Delegated { task, .. } | Self::Step { task, .. } | Self::Task(task) => {
                task.clone()
            }
            Self::Fork { task, .. } if task.as_ref().is_some_and(is_blank) => None,
            Self::Fork { point, task } => point.intent_with(task.as_deref()),
        };
        intent.filter(|task| !is_blank(task))
    }

    /// Returns the number of requests of each target answered before: a script resumes after them.
    fn answered(&self, targets: &[TargetSpec]) -> Vec<usize> {
        let point = match self {
            Self::Continuation(continuation) => &continuation.point,
            Self::Fork { point, .. } => point,
            Self::Delegated { .. } | Self::Loaded { .. } | Self::Step { .. } | Self::Task(_) => {
                return Vec::new();
            }
        };
        let providers = targets.iter().map(|target| &target.provider);
        by_target(providers, point.answered.clone())
    }

    /// The contract that the run's own one names as its parent's.
    fn parent_contract(&self) -> Option<Digest> {
        match self {
            Self::Continuation(continuation) => Some(continuation.contract.contract_hash()),
            Self::Delegated { contract, .. } => Some(*contract),
            Self::Fork { .. } | Self::Loaded { .. } | Self::Step { .. } | Self::Task(_) => None,
        }
    }

    /// Returns true if its task is said in a conversation that has begun. The task is then text, whatever input the agent asks
    /// for.
    const fn is_within_conversation(&self) -> bool {
        matches!(self, Self::Continuation(_) | Self::Loaded { .. })
    }

    /// Compares the file with the contract of the run being continued, before a server is started.
    async fn check(
        &self,
        found: &ReadRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), DriverError> {
        let Self::Continuation(continuation) = self else {
            return Ok(());
        };
        if !continuation.same_contract {
            return Ok(());
        }
        let mut checked = continuation.check(found, cancel).await?;
        let differs = matches!(
            checked,
            Err(Mismatch::Contract { .. } | Mismatch::Script { .. })
        );
        if let Some(request) = continuation.without_changes.as_deref().filter(|_| differs) {
            let found = ReadRequest::read(request, cancel).await?;
            checked = continuation.check(&found, cancel).await?;
        }
        checked.map_err(|mismatch| changed(mismatch, &continuation.point.run_id))
    }

    /// The first messages, as they are recorded.
    fn opening(
        self,
        contract: &ExecutionContract,
        intent: &str,
        counter: &dyn TokenCounter,
        redactor: &Redactor,
    ) -> Opening {
        let own = || RunStarted::opening_counted(&contract.system, intent, counter);
        let (point, task) = match self {
            Self::Continuation(continuation) => {
                (Box::new(continuation.point), Some(intent.to_owned()))
            }
            Self::Fork { point, task } => (point, task),
            Self::Delegated { labels, parent, .. } => {
                return Opening::inheriting(own(), 0, labels).of(*parent);
            }
            Self::Loaded { saved, task } => {
                let messages = opening_of(saved, &task, contract, counter);
                let messages = Scrub(redactor).opening(messages, counter);
                // No run of this store stands behind it.
                return Opening::inheriting(messages, 1, Label::every());
            }
            Self::Task(_) => {
                return Opening {
                    inherited: None,
                    messages: own(),
                    parent: None,
                };
            }
            Self::Step {
                call,
                labels,
                parent,
                ..
            } => {
                let call = call.map(|call| AgentMessage {
                    tool_calls: vec![call],
                    ..AgentMessage::text(Role::Assistant, "", 0)
                });
                let messages = own().into_iter().chain(call).collect();
                let messages = Scrub(redactor).opening(messages, counter);
                return Opening::inheriting(messages, 0, labels).of(parent);
            }
        };
        let said = usize::from(task.is_some());
        let opening = point.opening(&contract.system, task.as_deref(), counter);
        let mut messages = Scrub(redactor).opening(opening, counter);
        if !point.counting.is_like(&contract.counting()) {
            RunStarted::recount(&mut messages, counter);
        }
        let parent = ParentRun {
            call: None,
            head: point.head,
            run_id: point.run_id,
        };
        Opening::inheriting(messages, said, point.labels).of(parent)
    }
}

impl Continuation {
    /// Checks that the file gives the contract of the other run.
    async fn check(
        &self,
        found: &ReadRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Result<(), Mismatch>, DriverError> {
        let (contract, draft) = (&self.contract, found.draft());
        let name = contract.tokenizer.clone();
        let tokenizers = found.tokenizers(name, draft.as_ref().ok(), cancel).await?;
        let task = self.point.task.as_deref();
        Ok(check_contract(contract, draft, found, &tokenizers, task))
    }
}

async fn begin(
    mut request: RunRequest,
    beginning: Beginning,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    let intent = beginning.intent().ok_or(DriverError::NoTask)?;
    // What is said in a conversation that has begun is text.
    if let (Some(input), false) = (&request.spec.input, beginning.is_within_conversation()) {
        check_input(input.schema.as_ref(), &intent).map_err(FactoryError::Input)?;
    }
    request.spec.task = Some(intent.clone());
    let run_id = match request.run_id.take() {
        Some(id) => id,
        None => random_run_id("")?,
    };
    let invocation = request.invocation.take();
    let below = Below::of(&request, invocation.as_ref());
    let shared = request.environment.shared().clone();
    let workspace = Workspace::find(&request.spec, &request.contract_dir).await?;
    let found = ReadRequest::read(&request, cancel).await?;
    let draft = found.draft();
    let unmet = found.unmet(draft.as_ref().ok());
    if let Some(fault) = unmet.into_iter().next() {
        return Err(fault);
    }
    let confinement = found.confinement(ServersToStart::All).await?;
    let servers = found.servers(ServersToStart::All)?;
    judge_store_place(&servers, workspace.path(), &request.environment)?;
    let guard = found.guard(draft.as_ref().ok())?;
    let redactor = guard.redactor(&request.spec, &request.redaction_key, &run_id);
    // The policy is decided by what is recorded of the task, so that a reader of the transcript comes to the same.
    let intent = redactor.text(&intent).into_owned();
    let mut draft = draft?;
    let intent_words = draft.decide(Some(&intent))?;
    let answered = beginning.answered(&request.spec.targets);
    beginning.check(&found, cancel).await?;
    let parent_contract = beginning.parent_contract();
    let reached = found.addresses()?;
    let addresses = reached.recorded(redactor.as_ref());
    let started = Started::up(
        servers,
        workspace.path(),
        &guard.servers,
        draft.total_timeout_ms,
        cancel,
        &request.environment,
    )
    .await?;
    let made = started.then(async |offer| {
        if let Some(fault) = not_offered(&request.spec, &offer.capabilities)
            .into_iter()
            .next()
        {
            return Err(fault);
        }
        let tools_are_up = offer.capabilities.values().all(|server| server.available);
        let name = draft.tokenizer.clone();
        let tokenizers = found.tokenizers(name, Some(&draft), cancel).await?;
        let contract = draft.complete(&offer.capabilities, parent_contract, &tokenizers)?;
        guard.check(&contract)?;
        let backends = found.backends(&contract, &reached, tools_are_up, &answered)?;
        let reported = (
            offer.faults_under(&request.spec, &contract),
            offer.statements,
        );
        Ok::<_, DriverError>((contract, backends, tokenizers, reported))
    });
    let ((contract, backends, tokenizers, reported), mut servers) = made.await?;
    // A tool that has changed since is known when it is called.
    drop(servers.expect_pins(pins_of(&contract)));
    let (faults, tool_servers) = reported;
    let (counter, tokenizer_fault) = match tokenizers.counter_of(contract.tokenizer.as_deref()) {
        Ok(counter) => (counter, None),
        Err(fault) => {
            // It may name a file, and it quotes llama.cpp.
            (BytesPerToken::counter(), Some(redactor.cut_text(&fault)))
        }
    };
    let Opening {
        inherited,
        mut messages,
        parent,
    } = beginning.opening(&contract, &intent, counter.as_ref(), &redactor);
    let provider_states = AgentMessage::take_states(&mut messages);
    let started = Box::new(RunStarted {
        addresses,
        bring_up: faults,
        confinement,
        contract_hash: contract.rehash(),
        inherited,
        intent_words,
        messages,
        parent,
        provider_states,
        run_id: run_id.clone(),
        started_unix_ms: unix_ms(),
        tokenizer_fault,
        tool_servers,
        workspace: Some(workspace.digest()),
    });
    let start = Start::New {
        invocation: invocation.and_then(|given| recorded(given, &redactor)),
        started,
    };
    Ok(Prepared {
        below,
        backends,
        contract: shared.contract(contract),
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
