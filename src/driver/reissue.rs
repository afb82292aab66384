//! A recorded run's requests and calls, made again. Nothing is written; what differs is for `replay` to say.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ancestry::by_target;
use super::bring_up::{
    Again as BroughtUp, Mismatch, Models, Recorded, RunRequest, Tokenizers, bring_up_again,
};
use super::clock::RunClock;
use super::error::DriverError;
use super::perform::{self, Answer};
use super::redaction::Redactor;
use crate::adapter::xml::transported;
use crate::adapter::{Adapter, Decoded};
use crate::contract::ExecutionContract;
use crate::inference::{Backend, Patience};
use crate::kernel::{CallOrder, EventKind, RunStarted, XmlOffer};
use crate::message::{ProviderFault, ProviderFaultClass, RunId, TokenCounter, ToolOutcome};
use crate::replay::{Again, BlobSource, LiveAnswer, LiveReport, LiveScope, Reissuer};
use crate::tools::ToolServers;
use crate::transcript::SealedEntry;

/// A recorded run whose requests and calls are to be made again.
pub(crate) struct Recording<'r> {
    /// How many requests each provider had answered where the run began; nothing but for a run that began from another one.
    pub answered_before: BTreeMap<String, usize>,
    /// Where its blobs are.
    pub blobs: &'r dyn BlobSource,
    /// Its contract.
    pub contract: ExecutionContract,
    /// Its entries.
    pub entries: &'r [SealedEntry],
    /// Whether it may have no seal yet.
    pub open: bool,
    /// Its name.
    pub run_id: RunId,
}

/// Makes the requests and calls of a recorded run again, one after the other, and compares. `request` supplies what a contract
/// does not hold: values of variables and headers, keys, the folder. `told` hears of each thing before it is asked.
///
/// # Errors
/// [`DriverError`] where the file, the workspace or the tool servers are not what the run was begun with, or it was cancelled.
pub(crate) async fn reissue(
    recording: Recording<'_>,
    request: RunRequest,
    scope: LiveScope,
    cancel: &CancellationToken,
    told: &mut dyn FnMut(&str),
) -> Result<LiveReport, DriverError> {
    let run_id = recording.run_id.clone();
    let mut world = World::up(&recording, request, scope, cancel).await?;
    let mut reissuer =
        Reissuer::new(recording.contract, &run_id, scope).counting_with(&world.tokenizers);
    for entry in recording.entries {
        if entry.seq == 0 {
            for name in std::mem::take(&mut world.changed) {
                reissuer.tool_changed(entry, &name);
            }
        }
        if let Some(again) = reissuer.again(entry) {
            told(&line(entry.seq, &again));
            match world.ask(again, cancel).await {
                Asked::Answered(answer) => reissuer.compare(entry, answer),
                Asked::NoTime => reissuer.not_asked(entry.seq, "total_timeout_ms has passed"),
                Asked::Nobody => reissuer.not_asked(entry.seq, "the contract has no such target"),
            }
        }
        if cancel.is_cancelled() {
            world.down().await;
            return Err(DriverError::AskingInterrupted { run_id });
        }
        reissuer.take(entry, recording.blobs);
    }
    world.down().await;
    Ok(reissuer.finish(recording.open))
}

fn line(seq: u64, again: &Again) -> String {
    match again {
        Again::Inference { inference, .. } => {
            format!("entry {seq}: sending request {inference} again")
        }
        Again::Call(order) => {
            format!("entry {seq}: calling {} again", order.invocation.name)
        }
    }
}

/// Models and tools as they are now.
struct World {
    backends: Vec<Arc<Backend>>,
    changed: Vec<String>,
    clock: RunClock,
    contract: Arc<ExecutionContract>,
    counter: Arc<dyn TokenCounter>,
    ends: Instant,
    redactor: Arc<Redactor>,
    run_id: RunId,
    servers: Arc<ToolServers>,
    tokenizers: Tokenizers,
}

enum Asked {
    Answered(LiveAnswer),
    NoTime,
    Nobody,
}

impl World {
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
            unknown_workspace: true,
        };
        let up = Box::pin(bring_up_again(recorded, request, cancel)).await;
        let BroughtUp {
            backends,
            changed,
            counter,
            redactor,
            servers,
            tokenizers,
        } = up.map_err(|mismatch| fault_of(mismatch, run_id))?;
        let total = Duration::from_millis(contract.total_timeout_ms);
        let now = Instant::now();
        Ok(Self {
            backends,
            changed,
            clock: RunClock::starting_at(0),
            contract: Arc::new(contract.clone()),
            counter,
            // What is beyond the system's count never comes: a century stands for it.
            ends: now
                .checked_add(total)
                .unwrap_or(now + Duration::from_secs(100 * 365 * 86_400)),
            redactor,
            run_id: run_id.clone(),
            servers: Arc::new(servers),
            tokenizers,
        })
    }

    async fn ask(&self, again: Again, cancel: &CancellationToken) -> Asked {
        if self.ends <= Instant::now() {
            return Asked::NoTime;
        }
        match again {
            Again::Inference {
                body, target, xml, ..
            } => self.infer(body, (target, xml), cancel).await,
            Again::Call(order) => self.call(order, cancel).await,
        }
    }

    async fn infer(
        &self,
        body: Vec<u8>,
        (target, xml): (usize, Option<XmlOffer>),
        cancel: &CancellationToken,
    ) -> Asked {
        let model = self.contract.targets.get(target);
        let adapter = Adapter::of_target(&self.contract, target);
        let (Some(backend), Some(model), Ok(adapter)) = (self.backends.get(target), model, adapter)
        else {
            return Asked::Nobody;
        };
        let patience = Patience {
            cancel: cancel.clone(),
            idle: Duration::from_millis(self.contract.llm_timeout_ms),
        };
        let path = adapter.path(model);
        let asked = perform::Question {
            adapter,
            model: &model.model,
            path: path.as_ref(),
            terms: &self.contract,
        };
        let asking = perform::exchange(backend, asked, body, &patience, &self.redactor);
        let answer = self.in_time(asking).await.map(|answer| answer.response);
        Asked::Answered(LiveAnswer::Inference(match answer {
            Some(Ok(Decoded::Message(result))) => {
                let asked = (target, adapter);
                let result = transported(*result, xml.as_ref(), &self.contract, asked);
                Ok(Box::new(result))
            }
            Some(Ok(Decoded::Fault { fault, .. })) => Err(fault),
            Some(Err(fault)) => Err(fault.into_provider_fault()),
            // The recorded run had its answer by then.
            None => Err(ProviderFault::new(
                ProviderFaultClass::Timeout,
                "total_timeout_ms has passed",
            )),
        }))
    }

    async fn call(&self, order: CallOrder, cancel: &CancellationToken) -> Asked {
        let calling = perform::call(
            Arc::clone(&self.servers),
            (Arc::clone(&self.contract), Arc::clone(&self.counter)),
            Arc::clone(&self.redactor),
            self.run_id.clone(),
            self.clock,
            order,
            cancel.child_token(),
        );
        match self.in_time(calling).await {
            Some(Answer::Call { outcome, .. }) => Asked::Answered(LiveAnswer::Call(outcome)),
            Some(Answer::Probed(_) | Answer::Inference(_)) => Asked::Nobody,
            None => Asked::Answered(LiveAnswer::Call(ToolOutcome::TimedOut)),
        }
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.ends, work).await.ok()
    }

    async fn down(self) {
        if let Ok(servers) = Arc::try_unwrap(self.servers) {
            servers.close().await;
        }
    }
}

/// What keeps the requests and calls of a run from being made again.
fn fault_of(mismatch: Mismatch, run_id: &RunId) -> DriverError {
    let run_id = run_id.clone();
    let reason = match mismatch {
        Mismatch::Contract {
            pointer,
            recorded,
            given,
        } => format!(
            "the file gives another contract: {pointer} is {given}, and the run was begun with {recorded}"
        ),
        Mismatch::Script { path, provider } => format!(
            "the script {} of provider `{provider}` is not the one that it was begun with",
            path.display()
        ),
        Mismatch::Server(fault) => return DriverError::NobodyToAsk { fault, run_id },
        Mismatch::Tokenizer(reason) => reason,
        Mismatch::Workspace(path) => {
            format!("it was begun in another workspace than {}", path.display())
        }
        Mismatch::Other(DriverError::Cancelled) => {
            return DriverError::AskingInterrupted { run_id };
        }
        Mismatch::Other(fault) => return fault,
    };
    DriverError::CannotAskAgain { reason, run_id }
}

fn started(entries: &[SealedEntry]) -> Option<RunStarted> {
    let event = entries.first()?.decode_event().ok()??;
    match event.event {
        EventKind::RunStarted(started) => Some(*started),
        _ => None,
    }
}
