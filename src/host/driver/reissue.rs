//! Makes the requests and calls of a recorded run again. Writes nothing; `replay` compares.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ancestry::by_target;
use super::bring_up::{
    BroughtUp, ExpectedWorkspace, Mismatch, Models, Recorded, RecordedConfinement, RunRequest,
    Tokenizers, bring_up_again,
};
use super::clock::RunClock;
use super::error::DriverError;
use super::perform::{self, RequestSlots, Tools};
use super::shared::Shared;
use super::tasks::blocking;
use crate::inference::Backend;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{EventKind, RunStarted};
use monolith_core::message::{ProviderFault, ProviderFaultClass, RunId, ToolOutcome};
use monolith_core::replay::{BlobSource, LiveReport, LiveScope, Reissue, Requerier};
use monolith_core::session::{Call, Input, Request};
use monolith_core::transcript::SealedEntry;

/// A recorded run whose requests and calls are to be made again.
pub struct Recording<'r> {
    /// Number of requests that each provider had answered before the run began; empty unless it began from another run.
    pub answered_before: BTreeMap<String, usize>,
    /// The source of its blobs.
    pub blobs: &'r dyn BlobSource,
    /// Its contract.
    pub contract: ExecutionContract,
    /// True if its tools work in the folder of the request, wherever the run was begun.
    pub elsewhere: bool,
    /// Its entries.
    pub entries: &'r [SealedEntry],
    /// True if it may still lack a seal.
    pub open: bool,
    /// Its name.
    pub run_id: RunId,
}

/// Makes the requests and calls of a recorded run again, one after the other, and compares. `request` supplies what a contract
/// does not hold: values of variables and headers, keys, the folder. `progress` hears of each thing before it is asked.
///
/// # Errors
/// [`DriverError`] where the file, the workspace or the tool servers are not what the run was begun with, or it was cancelled.
pub async fn reissue(
    recording: Recording<'_>,
    request: RunRequest,
    scope: LiveScope,
    cancel: &CancellationToken,
    progress: &mut dyn FnMut(&str),
) -> Result<LiveReport, DriverError> {
    let run_id = recording.run_id.clone();
    let mut world = LiveTargets::up(&recording, request, scope, cancel).await?;
    let mut requerier =
        Requerier::new(recording.contract, &run_id, scope).counting_with(&world.tokenizers);
    for entry in recording.entries {
        if entry.seq == 0 {
            for name in std::mem::take(&mut world.changed) {
                requerier.tool_changed(entry, &name);
            }
        }
        if let Some(reissue) = requerier.reissue(entry) {
            progress(&line(entry.seq, &reissue));
            match world.ask(reissue, &mut requerier, cancel).await {
                Reissued::Response(input) => {
                    requerier.compare(entry, *input, world.tools.scrubber.as_ref());
                }
                Reissued::NoTime => requerier.skipped(entry.seq, "total_timeout_ms has passed"),
                Reissued::Unavailable => {
                    requerier.skipped(entry.seq, "the contract has no such target");
                }
            }
        }
        if cancel.is_cancelled() {
            world.down().await;
            return Err(DriverError::AskingInterrupted { run_id });
        }
        requerier.take(entry, recording.blobs);
    }
    world.down().await;
    Ok(requerier.finish(recording.open))
}

fn line(seq: u64, reissue: &Reissue) -> String {
    match reissue {
        Reissue::Inference(request) => {
            let inference = request.inference.inference;
            format!("entry {seq}: sending request {inference} again")
        }
        Reissue::Call(call) => {
            format!("entry {seq}: calling {} again", call.order.invocation.name)
        }
    }
}

/// Models and tools as they are now.
struct LiveTargets {
    backends: Vec<Arc<Backend>>,
    changed: Vec<String>,
    ends: Instant,
    tokenizers: Tokenizers,
    tools: Tools,
}

enum Reissued {
    Response(Box<Input>),
    NoTime,
    Unavailable,
}

impl LiveTargets {
    async fn up(
        recording: &Recording<'_>,
        request: RunRequest,
        scope: LiveScope,
        cancel: &CancellationToken,
    ) -> Result<Self, DriverError> {
        let (contract, run_id) = (&recording.contract, &recording.run_id);
        let Some(started) = started(recording.entries) else {
            let reason = "it has no beginning".to_owned();
            let run_id = run_id.clone();
            return Err(DriverError::CannotAskAgain { reason, run_id });
        };
        if scope.tools {
            let mut confinement = RecordedConfinement::default();
            confinement.add(run_id, recording.entries);
            let environment = request.environment.clone();
            let check = move || confinement.check(&environment).map_err(DriverError::from);
            blocking(check)
                .await
                .map_err(|fault| DriverError::CannotAskAgain {
                    reason: fault.to_string(),
                    run_id: run_id.clone(),
                })?;
        }
        let providers = contract.targets.iter().map(|target| &target.provider);
        let played = by_target(providers, recording.answered_before.clone());
        let recorded = Recorded {
            contract,
            models: scope.inference.then_some(Models {
                played,
                with_keys: true,
            }),
            run_id,
            started: &started,
            tools: scope.tools,
            workspace: if recording.elsewhere {
                ExpectedWorkspace::Any
            } else {
                ExpectedWorkspace::RecordedIfKnown
            },
        };
        let up = Box::pin(bring_up_again(recorded, request, cancel)).await;
        let BroughtUp {
            backends,
            changed,
            redactor,
            servers,
            tokenizers,
            ..
        } = up.map_err(|mismatch| fault_of(mismatch, run_id))?;
        let total = Duration::from_millis(contract.total_timeout_ms);
        let now = Instant::now();
        Ok(Self {
            backends,
            changed,
            // A deadline beyond what the system can count never comes: a century replaces it.
            ends: now
                .checked_add(total)
                .unwrap_or(now + Duration::from_secs(100 * 365 * 86_400)),
            tokenizers,
            tools: Tools {
                clock: RunClock::starting_at(0),
                contract: Arc::new(contract.clone()),
                files: None,
                // One call at a time waits for no other.
                queues: Arc::default(),
                scrubber: redactor,
                servers: Arc::new(servers),
            },
        })
    }

    async fn ask(
        &self,
        reissue: Reissue,
        requerier: &mut Requerier,
        cancel: &CancellationToken,
    ) -> Reissued {
        if self.ends <= Instant::now() {
            return Reissued::NoTime;
        }
        match reissue {
            Reissue::Inference(request) => self.infer(*request, requerier, cancel).await,
            Reissue::Call(call) => self.call(*call, cancel).await,
        }
    }

    async fn infer(
        &self,
        request: Request,
        requerier: &mut Requerier,
        cancel: &CancellationToken,
    ) -> Reissued {
        let Some(backend) = self.backends.get(request.inference.target).cloned() else {
            return Reissued::Unavailable;
        };
        let inference = request.inference.inference;
        let reading = read(backend, request, requerier, cancel.child_token());
        let last = self.in_time(reading).await.unwrap_or_else(|| {
            // The recorded run had its answer by then.
            let class = ProviderFaultClass::Timeout;
            Input::Fault {
                fault: ProviderFault::new(class, "total_timeout_ms has passed"),
                inference,
            }
        });
        Reissued::Response(Box::new(last))
    }

    async fn call(&self, call: Call, cancel: &CancellationToken) -> Reissued {
        let number = call.order.call;
        let calling = perform::call(self.tools.clone(), call, None, cancel.child_token());
        let done = self.in_time(calling).await.and_then(|done| done.input);
        Reissued::Response(Box::new(done.unwrap_or(Input::ToolResult {
            call: number,
            exchanges: Vec::new(),
            outcome: ToolOutcome::TimedOut,
        })))
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.ends, work).await.ok()
    }

    async fn down(self) {
        if let Ok(servers) = Arc::try_unwrap(self.tools.servers) {
            servers.close().await;
        }
    }
}

/// Returns the error when the requests and calls of a run cannot be made again.
fn fault_of(mismatch: Mismatch, run_id: &RunId) -> DriverError {
    let run_id = run_id.clone();
    let reason = match mismatch {
        Mismatch::Contract {
            agent: _,
            pointer,
            recorded,
            given,
        } => format!(
            "the file gives another contract: {pointer} is {given}, but the run started with {recorded}"
        ),
        Mismatch::Script { path, provider } => format!(
            "the script {} of provider `{provider}` is not the one that it started with",
            path.display()
        ),
        Mismatch::Server(fault) => {
            return DriverError::ServerDownToCompare {
                fault: Box::new(fault),
                run_id,
            };
        }
        Mismatch::Tokenizer(reason) => reason,
        Mismatch::Workspace(path) => {
            format!("it started in a workspace other than {}", path.display())
        }
        Mismatch::Other(DriverError::Cancelled) => {
            return DriverError::AskingInterrupted { run_id };
        }
        Mismatch::Other(fault) => return fault,
    };
    DriverError::CannotAskAgain { reason, run_id }
}

/// Sends a request and reads its response, as far as anything of it matters.
async fn read(
    backend: Arc<Backend>,
    request: Request,
    requerier: &mut Requerier,
    cancel: CancellationToken,
) -> Input {
    let inference = request.inference.inference;
    let (sender, mut pieces) = mpsc::channel(1);
    let slots = RequestSlots::of(&Shared::default(), None);
    let mut asking = Box::pin(perform::infer(backend, request, sender, slots, cancel));
    loop {
        tokio::select! {
            biased;
            Some(piece) = pieces.recv() => {
                if piece.input.is_some_and(|input| requerier.arrives(input)) {
                    return Input::ResponseEnded { inference };
                }
            }
            done = &mut asking => {
                // Its last pieces may have come with its end.
                while let Ok(piece) = pieces.try_recv() {
                    if piece.input.is_some_and(|input| requerier.arrives(input)) {
                        return Input::ResponseEnded { inference };
                    }
                }
                return done.input.unwrap_or(Input::ResponseEnded { inference });
            }
        }
    }
}

fn started(entries: &[SealedEntry]) -> Option<RunStarted> {
    let event = entries.first()?.decode_event().ok()??;
    match event.event {
        EventKind::RunStarted(started) => Some(*started),
        _ => None,
    }
}
