//! A run below a run: brought up and driven as any other one, in a task of its own. What it may use is not decided here.
//!
//! ```text
//! Output::Delegate ─▶ delegate ─┬─ no run of that name ─▶ prepare_delegated ─▶ drive ─┐
//!                               ├─ an open one ─────────▶ prepare_resume ────▶ drive ─┼─▶ Input::ChildEnded
//!                               └─ a sealed one ──────── read ───────────────────────┘
//! ```

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::agent_reader::ReadAgent;
use super::below::Below;
use super::bring_up::{Prepared, RunRequest, prepare_delegated, prepare_resume, reopen_below};
use super::delegating::{Delegating, Seat};
use super::perform::{CallBlobs, Done};
use super::{DriverError, Environment};
use crate::contract::{Delegator, ExecutionContract, task_of, ungranted};
use crate::kernel::{AgentOutcome, ChildEnd, EventKind, Fold, OutcomeCode, ParentRun, Run};
use crate::message::{CallSeq, Digest, RunId, ToolOutcome};
use crate::replay::ReplayReport;
use crate::session::{Control, Delegation, Input};
use crate::store::{Store, StoreError};
use crate::tools::{Clock as _, Delegated, delegated_envelope};
use crate::transcript::SealedEntry;

/// What became of the call of an agent.
enum Came {
    /// Its run has ended.
    Ended(Box<Ended>),
    /// Its run was suspended, or not begun since this process leaves: the next one goes on with it.
    Left,
    /// No run was begun, and why.
    NotBegun(String),
    /// The agent's file is another one now.
    Changed(String),
}

#[derive(Clone)]
struct Ended {
    child: ChildEnd,
    report: Option<String>,
}

/// Begins the run of an agent's call, or goes on with it, to its end. A fault of the store is the parent's, too.
pub(super) fn delegate(
    delegating: Delegating,
    delegation: Delegation,
    seat: Seat,
) -> BoxFuture<'static, Done> {
    Box::pin(async move {
        let call = delegation.order.call;
        let permit = {
            let queue = delegation.queue.as_deref();
            delegating.queues.agent_permit(queue, &seat.cancel)
        };
        // One that was begun before goes on, whatever others do.
        let Some(permit) = permit.await else {
            return Done::from(Input::ChildEnded {
                call,
                child: None,
                outcome: ToolOutcome::Cancelled,
            });
        };
        let started_at_ms = delegating.clock.run_ms();
        let came = come_to_its_end(&delegating, &delegation, seat).await;
        drop(permit);
        let (child, result) = match came {
            Ok(Came::Left) => return Done::nothing(),
            Err(fault) => return Done::failed(fault),
            Ok(Came::Changed(detail)) => {
                return Done::from(Input::ChildEnded {
                    call,
                    child: None,
                    outcome: ToolOutcome::ToolChanged { detail },
                });
            }
            Ok(Came::NotBegun(reason)) => (None, Delegated::not_begun(reason)),
            Ok(Came::Ended(ended)) => {
                let text = envelope_text(&ended);
                let code = ended.child.outcome.code.to_string();
                let failed = (!ended.child.outcome.class.is_success()).then_some(code);
                (Some(Box::new(ended.child)), Delegated { failed, text })
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

async fn come_to_its_end(
    delegating: &Delegating,
    delegation: &Delegation,
    seat: Seat,
) -> Result<Came, DriverError> {
    let Delegating {
        below: Some(below),
        store,
        ..
    } = delegating
    else {
        let reason = "this host cannot read the files of agents".to_owned();
        return Ok(Came::NotBegun(reason));
    };
    let name = &delegation.order.invocation.name;
    let (Some(terms), Some(reader)) = (
        delegating.contract.agents.get(name),
        below.environment.agents().cloned(),
    ) else {
        let reason = "this host cannot read the files of agents".to_owned();
        return Ok(Came::NotBegun(reason));
    };
    let link = Link {
        call: delegation.order.call,
        child: delegation.run_id.clone(),
        parent: delegating.run_id.clone(),
    };
    let known = known(store, &below.environment, link).await?;
    let mut stops = delegating.stops;
    let mut seat = seat;
    let read = {
        let (file, parent) = (terms.file.clone(), below.parent.clone());
        let begun = match &known {
            Known::Ended(ended) => {
                seat.observer.recorded(&ended.contract, &ended.entries);
                return Ok(Came::Ended(Box::new(Ended::clone(&ended.ended))));
            }
            Known::Taken => {
                let run_id = &delegation.run_id;
                return Ok(Came::NotBegun(format!("another run is called {run_id}")));
            }
            Known::Open(reopened) => {
                stops &= !reopened.is_stopping();
                seat.observer
                    .recorded(reopened.contract(), reopened.entries());
                reopened.invocation().cloned()
            }
            Known::None => None,
        };
        // Files are read on a thread of their own.
        let reading = move || match begun {
            Some(begun) => reader.read_again(&begun),
            None => reader.read(&file, &parent),
        };
        match tokio::task::spawn_blocking(reading).await {
            Ok(read) => read,
            Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
            Err(_) => return Ok(Came::Left),
        }
    };
    let is_open = matches!(known, Known::Open(_));
    let read = match read {
        Ok(read) => read,
        // A run that was begun waits for its file.
        Err(reason) if is_open => {
            let run_id = delegation.run_id.clone();
            return Err(DriverError::AgentUnreadable { reason, run_id });
        }
        Err(reason) => return Ok(Came::NotBegun(reason)),
    };
    if read.digest != terms.digest && !is_open {
        return Ok(Came::Changed(format!("{} has changed", terms.file)));
    }
    let path = read.invocation.as_ref();
    let path = path.map(|begun| begun.contract_file.clone());
    let request = request_of(delegating, delegation, below, read);
    let prepared = match known {
        Known::Open(reopened) => match prepare_resume(*reopened, request, &seat.cancel).await {
            Err(DriverError::Cancelled) => return Ok(Came::Left),
            prepared => prepared.map_err(|fault| fault.of_file(path))?.for_parent(),
        },
        Known::None | Known::Ended(_) | Known::Taken => {
            let parent = ParentRun {
                call: Some(delegation.order.call),
                head: delegating.head,
                run_id: delegating.run_id.clone(),
            };
            let link = (delegating.contract.contract_hash(), parent);
            match prepare_delegated(link, request, &seat.cancel).await {
                Ok(prepared) => prepared,
                Err(DriverError::Cancelled) => return Ok(Came::Left),
                Err(fault @ DriverError::Store(_)) => return Err(fault),
                Err(fault) => return Ok(Came::NotBegun(fault.to_string())),
            }
        }
    };
    let names = ungranted(prepared.contract()).join(", ");
    if !is_open && !names.is_empty() {
        prepared.close().await;
        let reason = format!("{name} has tools that it is not granted: {names}");
        return Ok(Came::NotBegun(reason));
    }
    if stops {
        // The first thing that it hears of.
        drop(seat.control.try_send(Control::Stop));
    }
    driven(delegating, delegation, prepared, seat).await
}

/// What the run of an agent's call is asked to be.
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
    seat: Seat,
) -> Result<Came, DriverError> {
    let mut prepared = prepared.with_grace(delegating.grace);
    if let Some(most) = delegating.max_inferences {
        prepared = prepared.with_max_inferences(most);
    }
    let Seat {
        controls,
        mut observer,
        ..
    } = seat;
    let finished =
        (delegating.drive)(prepared, &delegating.store, controls, observer.as_mut()).await?;
    let ended = |outcome| {
        let run_id = delegation.run_id.clone();
        let at = (finished.entries, finished.head);
        Box::new(Ended {
            child: ChildEnd::of(run_id, at, outcome, &finished.run.counters()),
            report: report_of(&finished.run),
        })
    };
    Ok(finished
        .run
        .outcome()
        .map_or(Came::Left, |outcome| Came::Ended(ended(outcome))))
}

/// What a run that has ended well says: its report, else its last message.
fn report_of(run: &Run) -> Option<String> {
    run.outcome().filter(|outcome| outcome.class.is_success())?;
    if let Some(report) = run.final_report() {
        return Some(report.text().to_owned());
    }
    let last = run.conversation().last()?;
    Some(last.content.clone())
}

/// What the store knows of the run of a call.
enum Known {
    None,
    /// Another run has its name.
    Taken,
    Open(Box<super::Reopened>),
    Ended(Box<Recorded>),
}

/// A run that has ended, and what is stored of it.
struct Recorded {
    contract: Arc<ExecutionContract>,
    ended: Ended,
    entries: Vec<SealedEntry>,
}

/// Which run the run of a call is.
struct Link {
    call: CallSeq,
    child: RunId,
    parent: RunId,
}

impl Link {
    fn is_of(&self, started: Option<&ParentRun>) -> bool {
        started.is_some_and(|from| from.run_id == self.parent && from.call == Some(self.call))
    }
}

async fn known(store: &Store, environment: &Environment, link: Link) -> Result<Known, DriverError> {
    let (store, environment) = (store.clone(), environment.clone());
    let look = move || match reopen_below(&store, &link.child, &environment) {
        Ok(reopened) if !link.is_of(reopened.parent()) => Ok(Known::Taken),
        Ok(reopened) => Ok(Known::Open(Box::new(reopened))),
        Err(DriverError::Store(StoreError::NoSuchRun { .. })) => {
            not_deleted(&store, &link.child, &link.parent).map(|()| Known::None)
        }
        Err(DriverError::RunEnded { .. }) => ended(&store, &link),
        Err(fault) => Err(fault),
    };
    match tokio::task::spawn_blocking(look).await {
        Ok(known) => known,
        Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
        // The process ends.
        Err(_) => Err(DriverError::Cancelled),
    }
}

/// Refuses to begin a run anew that one above it had begun, and that somebody deleted since.
///
/// # Errors
/// [`DriverError::BelowDeleted`], and the faults of the store.
pub(super) fn not_deleted(store: &Store, below: &RunId, above: &RunId) -> Result<(), DriverError> {
    let reader = store.reader()?;
    match reader.deleted_below(below, above)? {
        None => Ok(()),
        Some(reason) => Err(DriverError::BelowDeleted {
            below: below.clone(),
            reason,
            root: reader.goes_on_with(above)?,
            run_id: above.clone(),
        }),
    }
}

/// The end of a run that is sealed, made again from what is stored of it.
fn ended(store: &Store, link: &Link) -> Result<Known, DriverError> {
    let run_id = &link.child;
    let mut reader = store.reader()?;
    if let Some(flaw) = &reader.verify_run(run_id, false)?.first_bad {
        return Err(DriverError::DoesNotReplay {
            run_id: run_id.clone(),
            report: Box::new(ReplayReport::default().with_flaw(flaw)),
        });
    }
    let stored = reader.read_run(run_id)?;
    let contract = Arc::new(stored.contract()?);
    let entries: Vec<SealedEntry> = stored.collect::<Result<_, _>>()?;
    let mut fold = Fold::new(Arc::clone(&contract));
    for entry in &entries {
        let Ok(Some(event)) = entry.decode_event() else {
            continue;
        };
        if let EventKind::RunStarted(started) = &event.event
            && !link.is_of(started.parent.as_ref())
        {
            return Ok(Known::Taken);
        }
        drop(fold.take(event));
    }
    let nothing = || DriverError::NothingRecorded {
        run_id: run_id.clone(),
    };
    let run = fold.into_run().ok_or_else(nothing)?;
    let outcome = run.outcome().ok_or_else(nothing)?;
    let last = entries.last().ok_or_else(nothing)?;
    let at = (last.seq.saturating_add(1), last.hash);
    let ended = Ended {
        child: ChildEnd::of(run_id.clone(), at, outcome, &run.counters()),
        report: report_of(&run),
    };
    Ok(Known::Ended(Box::new(Recorded {
        contract,
        ended,
        entries,
    })))
}
