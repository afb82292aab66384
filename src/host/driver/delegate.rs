//! A child run: brought up and driven as any other one, in a separate task. Does not decide its limits.
//!
//! ```text
//! Output::Delegate ─▶ delegate ─┬─ no run of that name ─▶ prepare_delegated ─▶ drive ─┐
//!                               ├─ an open one ─────────▶ up_again ──────────▶ drive ─┼─▶ Input::ChildEnded
//!                               └─ a sealed one ──────── read ───────────────────────┘
//! ```

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::BoxFuture;
use futures_util::poll;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::DriverError;
use super::agent_reader::ReadAgent;
use super::bring_up::{Prepared, Reopened, RunRequest, prepare_delegated, prepare_end};
use super::child_state::{ChildState, Ended, Recorded, UpAgain, child_state, report_of, up_again};
use super::children::Below;
use super::delegating::{ChildChannels, Delegating};
use super::perform::{CallBlobs, Done};
use super::queues::{CallPermit, Queues};
use super::tasks::blocking;
use crate::tools::{Clock as _, Delegated, delegated_envelope};
use monolith_core::contract::{
    DelegateTerms, Delegator, ExecutionContract, Label, task_of, ungranted,
};
use monolith_core::kernel::{AgentOutcome, ChildEnd, OutcomeCode, ParentRun};
use monolith_core::message::{Digest, RunId, ToolOutcome, estimate_tokens};
use monolith_core::session::{Delegation, Input};
use monolith_core::transcript::SealedEntry;

/// The reason why a host that embeds the engine alone calls no agent.
const NO_READER: &str = "this host cannot read the files of agents";

/// The result of an agent's call.
enum ChildResult {
    /// The call was cancelled while it waited for its queue.
    Cancelled,
    /// The agent's file is another one now.
    Changed(String),
    /// Its run has ended.
    Ended(Box<Ended>),
    /// Its run was suspended, or not begun since this process leaves: the next process resumes it.
    Left,
    /// No run was begun, and why.
    NotBegun(String),
}

/// Begins or resumes the run of an agent's call, and drives it to its end. A fault of the store is the parent's, too.
pub(super) fn delegate(
    delegating: Delegating,
    delegation: Delegation,
    mut channels: ChildChannels,
) -> BoxFuture<'static, Done> {
    Box::pin(async move {
        let call = delegation.order.call;
        let known = match known_run(&delegating, &delegation, &mut channels).await {
            Ok(known) => known,
            Err(fault) => return Done::failed(fault),
        };
        let permit = match &known {
            ChildState::Ended(_) | ChildState::NameTaken => Some(None),
            ChildState::Absent | ChildState::Open(_) => {
                let (queues, queue) = (Arc::clone(&delegating.queues), delegation.queue.clone());
                let is_open = matches!(known, ChildState::Open(_));
                let place = place_in_queue(queues, queue, channels.cancel.clone(), is_open);
                let mut place = pin!(place);
                if let Poll::Ready(permit) = poll!(place.as_mut()) {
                    permit
                } else {
                    let (queue, report) = (delegation.queue.as_deref(), &channels.waiting);
                    let permit = tokio::select! {
                        biased;
                        // That one leaves its place, and is left itself.
                        () = channels.suspended.cancelled() => return Done::nothing(),
                        permit = place => permit,
                        () = delegating.queues.report_turn(queue, report) => None,
                    };
                    channels.waiting.set(None);
                    permit
                }
            }
        };
        if let Some(Some(permit)) = &permit {
            channels.waiting.holds(permit);
        }
        let started_at_ms = delegating.clock.run_ms();
        let result = match permit {
            Some(_) => run_child(&delegating, &delegation, known, channels).await,
            None => Ok(ChildResult::Cancelled),
        };
        drop(permit);
        let without_run = |outcome| {
            let child = None;
            Done::from(Input::ChildEnded {
                call,
                child,
                outcome,
            })
        };
        let (child, result) = match result {
            Err(fault) => return Done::failed(fault),
            Ok(ChildResult::Cancelled) => return without_run(ToolOutcome::Cancelled),
            Ok(ChildResult::Changed(detail)) => {
                return without_run(ToolOutcome::ToolChanged { detail });
            }
            Ok(ChildResult::Left) => return Done::nothing(),
            Ok(ChildResult::NotBegun(reason)) => (None, Delegated::not_begun(reason)),
            Ok(ChildResult::Ended(ended)) => {
                let result = result_of(&ended);
                (Some(Box::new(ended.child)), result)
            }
        };
        let blobs = CallBlobs::default();
        let envelope = delegated_envelope(
            result,
            &delegation.order,
            (&blobs, delegating.scrubber.as_ref(), &delegating.clock),
            (started_at_ms, delegation.output_limit_bytes),
        );
        let input = Input::ChildEnded {
            call,
            child,
            outcome: ToolOutcome::Returned(envelope),
        };
        Done::with(input, blobs.take())
    })
}

/// Looks up the call's run in the store. The call's observer sees the record first.
async fn known_run(
    delegating: &Delegating,
    delegation: &Delegation,
    channels: &mut ChildChannels,
) -> Result<ChildState, DriverError> {
    let Some(below) = &delegating.below else {
        return Ok(ChildState::Absent);
    };
    let known = child_state(
        &delegating.store,
        &below.environment,
        delegating.link(delegation),
    )
    .await?;
    match &known {
        ChildState::Ended(ended) => channels.observer.recorded(&ended.contract, &ended.entries),
        ChildState::Open(open) => channels.observer.recorded(open.contract(), open.entries()),
        ChildState::Absent | ChildState::NameTaken => {}
    }
    Ok(known)
}

/// Waits for the call's turn in its queue; `None` if the call is cancelled first. A run that has already begun then continues
/// without a place, to learn that it is to end: its usage counts.
async fn place_in_queue(
    queues: Arc<Queues>,
    queue: Option<String>,
    cancel: CancellationToken,
    is_open: bool,
) -> Option<CallPermit> {
    let permit = queues.agent_permit(queue.as_deref(), &cancel);
    match permit.await {
        None if is_open => Some(None),
        permit => permit,
    }
}

/// The result that a run has which ended, for the call that wanted it.
fn result_of(ended: &Ended) -> Delegated {
    let outcome = ended.child.outcome;
    let code = outcome.code.to_string();
    Delegated {
        failed: (!outcome.class.is_success()).then_some(code),
        text: envelope_text(ended),
    }
}

/// The same of a run that is sealed, made again from what is stored: neither scrubbed nor cut for the run above. The labels that it saw
/// come with it.
///
/// # Errors
/// [`DriverError::NothingRecorded`] where the entries are no run that has ended.
pub fn recorded_result(
    contract: Arc<ExecutionContract>,
    entries: Vec<SealedEntry>,
    run_id: RunId,
) -> Result<(Delegated, Option<BTreeSet<Label>>), DriverError> {
    let ended = Recorded {
        contract,
        entries,
        run_id,
    }
    .ended()?;
    Ok((result_of(&ended), ended.child.labels))
}

/// The result that the model gets of a run's end. The report comes last: where the whole is cut, that is.
fn envelope_text(ended: &Ended) -> String {
    #[derive(Serialize)]
    struct ResultText<'a> {
        outcome: AgentOutcome,
        code: OutcomeCode,
        run_id: &'a RunId,
        head: Digest,
        report: Option<&'a str>,
    }
    let child = &ended.child;
    let text = ResultText {
        outcome: child.outcome.class,
        code: child.outcome.code,
        run_id: &child.run_id,
        head: child.head,
        report: ended.report.as_deref(),
    };
    // Strings and digests: serialising them cannot fail.
    serde_json::to_string(&text).unwrap_or_default()
}

async fn run_child(
    delegating: &Delegating,
    delegation: &Delegation,
    known: ChildState,
    channels: ChildChannels,
) -> Result<ChildResult, DriverError> {
    let open = match known {
        ChildState::Ended(recorded) => {
            let ended = blocking(move || recorded.ended()).await?;
            return Ok(ChildResult::Ended(Box::new(ended)));
        }
        ChildState::NameTaken => {
            let run_id = &delegation.run_id;
            let reason = format!("another run is called {run_id}");
            return Ok(ChildResult::NotBegun(reason));
        }
        ChildState::Open(open) if delegating.ends => {
            return ended_below(delegating, delegation, *open, channels).await;
        }
        ChildState::Open(reopened) => Some(reopened),
        ChildState::Absent if delegating.ends => return Ok(ChildResult::Cancelled),
        ChildState::Absent => None,
    };
    let name = &delegation.order.invocation.name;
    let (Some(below), Some(terms)) = (&delegating.below, delegating.contract.agents.get(name))
    else {
        return Ok(ChildResult::NotBegun(NO_READER.to_owned()));
    };
    let Some(reader) = below.environment.agents().cloned() else {
        return Ok(ChildResult::NotBegun(NO_READER.to_owned()));
    };
    let read = {
        let (file, parent) = (terms.file.clone(), below.parent.clone());
        let begun = open.as_ref().and_then(|open| open.invocation().cloned());
        let arguments = delegation.order.invocation.arguments.as_str().to_owned();
        let reading = move || {
            Ok(match begun {
                Some(begun) => reader.read_again(&begun),
                None => reader.read(&file, &parent, &arguments),
            })
        };
        match blocking(reading).await {
            Err(DriverError::Cancelled) => return Ok(ChildResult::Left),
            read => read?,
        }
    };
    let read = match read {
        Ok(read) => read,
        // A run that was begun waits for its file.
        Err(reason) if open.is_some() => {
            let run_id = delegation.run_id.clone();
            return Err(DriverError::AgentUnreadable { reason, run_id });
        }
        Err(reason) => return Ok(ChildResult::NotBegun(reason)),
    };
    match open {
        Some(open) => {
            let agent = (below, read);
            Box::pin(resumed(delegating, delegation, agent, *open, channels)).await
        }
        None => match changed(terms, &read) {
            Some(detail) => Ok(ChildResult::Changed(detail)),
            None => Box::pin(begun(delegating, delegation, (below, read), channels)).await,
        },
    }
}

/// Describes an agent that differs from the contract: the called one, or one below it, whose present form no person has seen.
fn changed(terms: &DelegateTerms, read: &ReadAgent) -> Option<String> {
    if read.digest != terms.digest {
        return Some(format!("{} has changed", terms.file));
    }
    let differs = |(file, digest): &(&String, &Digest)| terms.below.get(*file) != Some(*digest);
    let above = &terms.file;
    if let Some((file, _)) = read.below.iter().find(differs) {
        return Some(format!("{file}, an agent below {above}, has changed"));
    }
    // What is the same text names the same files.
    let gone = terms.below.keys();
    let gone = gone.filter(|file| !read.below.contains_key(*file));
    let gone: Vec<&str> = gone.map(String::as_str).collect();
    let files = (!gone.is_empty()).then(|| gone.join(" or "))?;
    Some(format!("{files}, below {above}, cannot be read"))
}

/// Begins the run.
async fn begun(
    delegating: &Delegating,
    delegation: &Delegation,
    (below, read): (&Below, ReadAgent),
    mut channels: ChildChannels,
) -> Result<ChildResult, DriverError> {
    let request = request_of(delegating, delegation, below, read);
    let parent = ParentRun {
        call: Some(delegation.order.call),
        head: delegating.head,
        run_id: delegating.run_id.clone(),
    };
    let link = (delegating.contract.contract_hash(), parent);
    let labels = delegation.labels.clone();
    let prepared = match prepare_delegated(link, labels, request, &channels.cancel).await {
        Ok(prepared) => prepared,
        // The run above waits for the end, and there is none.
        Err(DriverError::Cancelled) if channels.parent_has_ended() => {
            return Ok(ChildResult::Cancelled);
        }
        Err(DriverError::Cancelled) => return Ok(ChildResult::Left),
        Err(fault) => return Ok(ChildResult::NotBegun(fault.to_string())),
    };
    let names = ungranted(prepared.contract()).join(", ");
    if !names.is_empty() {
        prepared.close().await;
        let name = &delegation.order.invocation.name;
        let reason = format!("{name} has tools that it is not granted: {names}");
        return Ok(ChildResult::NotBegun(reason));
    }
    if let Some(reason) = too_small(prepared.contract()) {
        prepared.close().await;
        return Ok(ChildResult::NotBegun(reason));
    }
    if delegating.stops {
        channels.ask_to_stop();
    }
    driven(delegating, delegation, prepared, channels).await
}

/// Says that a granted budget allows not even one request: its run would end before it asked its model.
fn too_small(contract: &ExecutionContract) -> Option<String> {
    let targets = contract.targets.iter();
    let answer = targets
        .map(|target| target.sampling.max_output_tokens)
        .min()?;
    let prompt = estimate_tokens(&contract.system);
    let (needed, left) = (
        prompt.saturating_add(answer),
        contract.max_tokens_consumed.0,
    );
    (needed > left).then(|| {
        format!(
            "budget: {needed} tokens needed (a prompt of {prompt}, an answer of {answer}), {left} granted; \
             state a smaller sampling.max_output_tokens for the agent, or a larger max_tokens_consumed for the run that calls it"
        )
    })
}

/// Resumes the open run. If the parent run ends before it is up, it ends, too.
async fn resumed(
    delegating: &Delegating,
    delegation: &Delegation,
    (below, read): (&Below, ReadAgent),
    open: Reopened,
    mut channels: ChildChannels,
) -> Result<ChildResult, DriverError> {
    let request = request_of(delegating, delegation, below, read);
    if delegating.stops {
        channels.ask_to_stop();
    }
    let above = (&delegating.store, delegating.link(delegation));
    let (controls, cancel) = (&mut channels.controls, &channels.cancel);
    let up = Box::pin(up_again(open, request, above, controls, cancel)).await?;
    match up {
        UpAgain::Left => Ok(ChildResult::Left),
        UpAgain::Ended(recorded) => {
            let ended = blocking(move || recorded.ended()).await?;
            Ok(ChildResult::Ended(Box::new(ended)))
        }
        UpAgain::Up {
            is_to_stop,
            prepared,
        } => {
            if is_to_stop {
                channels.ask_to_stop();
            }
            driven(delegating, delegation, *prepared, channels).await
        }
    }
}

/// Brings the run, which is open, to its end: the one above it ends.
async fn ended_below(
    delegating: &Delegating,
    delegation: &Delegation,
    open: Reopened,
    channels: ChildChannels,
) -> Result<ChildResult, DriverError> {
    let Some(below) = &delegating.below else {
        return Ok(ChildResult::Left);
    };
    let prepared = prepare_end(open, &below.environment, &below.key);
    driven(delegating, delegation, prepared, channels).await
}

/// Builds the request for the run of an agent's call.
fn request_of(
    delegating: &Delegating,
    delegation: &Delegation,
    below: &Below,
    read: ReadAgent,
) -> RunRequest {
    let ReadAgent {
        folder,
        invocation,
        spec,
        ..
    } = read;
    let call = &delegation.order.invocation;
    let task = task_of(call.arguments.as_str(), spec.input.as_ref());
    let by = Delegator {
        contract: &delegating.contract,
        folder: &below.parent.folder,
        spec: &below.spec,
    };
    let agent = (call.name.as_str(), folder.as_path());
    RunRequest {
        spec: spec.delegated(by, agent, &delegation.grant, task),
        contract_dir: folder,
        environment: below.environment.clone(),
        redaction_key: below.key.clone(),
        invocation,
        run_id: Some(delegation.run_id.clone()),
    }
}

/// Drives the run to its end.
async fn driven(
    delegating: &Delegating,
    delegation: &Delegation,
    prepared: Prepared,
    channels: ChildChannels,
) -> Result<ChildResult, DriverError> {
    let ChildChannels {
        controls,
        mut observer,
        waiting,
        ..
    } = channels;
    let mut prepared = prepared.with_grace(delegating.grace).that_reports(waiting);
    if let Some(most) = delegating.max_inferences {
        prepared = prepared.with_max_inferences(most);
    }
    let finished =
        (delegating.drive)(prepared, &delegating.store, controls, observer.as_mut()).await?;
    let ended = |outcome| {
        let run_id = delegation.run_id.clone();
        let at = (finished.entries, finished.head);
        Box::new(Ended {
            child: ChildEnd::of(run_id, at, outcome, &finished.run),
            report: report_of(&finished.run),
        })
    };
    Ok(finished.run.outcome().map_or(ChildResult::Left, |outcome| {
        ChildResult::Ended(ended(outcome))
    }))
}
