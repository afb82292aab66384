//! The state of a call's or step's run in the store: absent, open or ended. Brings an open one up again; drives none.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::bring_up::{Prepared, RunRequest, prepare_end, prepare_resume, reopen_below};
use super::tasks::blocking;
use super::{DriverError, Environment, Reopened};
use crate::store::{Store, StoreError};
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{ChildEnd, Fold, Run};
use monolith_core::message::{CallSeq, RunId};
use monolith_core::replay::ReplayReport;
use monolith_core::session::Control;
use monolith_core::transcript::SealedEntry;

/// The end of a run, and its report.
#[derive(Clone)]
pub(super) struct Ended {
    pub(super) child: ChildEnd,
    pub(super) report: Option<String>,
}

/// Returns the report of a run that ended well, or else its last message.
pub(super) fn report_of(run: &Run) -> Option<String> {
    run.outcome().filter(|outcome| outcome.class.is_success())?;
    if let Some(report) = run.final_report() {
        return Some(report.text().to_owned());
    }
    let last = run.conversation().last()?;
    Some(last.content.clone())
}

/// The store's record of the run of a call, or of a step.
pub(super) enum ChildState {
    Absent,
    /// Another run has its name.
    NameTaken,
    Open(Box<Reopened>),
    Ended(Box<Recorded>),
}

/// A run that has ended, and what is stored of it.
pub(super) struct Recorded {
    pub(super) contract: Arc<ExecutionContract>,
    pub(super) entries: Vec<SealedEntry>,
    pub(super) run_id: RunId,
}

/// The identity of the run of a call, or of a step.
#[derive(Clone, Debug)]
pub(super) struct ChildLink {
    /// The call; none of a step.
    pub(super) call: Option<CallSeq>,
    pub(super) child: RunId,
    pub(super) parent: RunId,
    /// True if an earlier process may have begun it.
    pub(super) was_begun: bool,
}

/// Looks the run up, on a separate thread. Locks an open one for this process.
pub(super) async fn child_state(
    store: &Store,
    environment: &Environment,
    link: ChildLink,
) -> Result<ChildState, DriverError> {
    let (store, environment) = (store.clone(), environment.clone());
    let look = move || {
        let mut reader = store.reader()?;
        match reader.read_run(&link.child).map(drop) {
            Err(StoreError::NoSuchRun { .. }) => {
                if link.was_begun {
                    not_deleted(&store, &link.child, &link.parent)?;
                }
                return Ok(ChildState::Absent);
            }
            read => read?,
        }
        // Another one may be driven elsewhere, or be damaged: that is no concern of this run.
        let lineage = reader.lineage(&link.child)?;
        if !lineage.is_some_and(|found| found.is_of(&link.parent, link.call)) {
            return Ok(ChildState::NameTaken);
        }
        drop(reader);
        match reopen_below(&store, &link.child, &environment) {
            Ok(reopened) => Ok(ChildState::Open(Box::new(reopened))),
            // Another process may have sealed it since.
            Err(DriverError::RunEnded { .. }) => recorded(&store, link.child),
            Err(fault) => Err(fault),
        }
    };
    blocking(look).await
}

/// Refuses to restart a run that its parent had begun and that somebody deleted since.
///
/// # Errors
/// [`DriverError::BelowDeleted`], and the faults of the store.
fn not_deleted(store: &Store, below: &RunId, above: &RunId) -> Result<(), DriverError> {
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

/// A run that is sealed, once its evidence holds.
fn recorded(store: &Store, run_id: RunId) -> Result<ChildState, DriverError> {
    let mut reader = store.reader()?;
    if let Some(flaw) = &reader.verify_run(&run_id, false)?.first_bad {
        return Err(DriverError::DoesNotReplay {
            report: Box::new(ReplayReport::default().with_flaw(flaw)),
            run_id,
        });
    }
    let stored = reader.read_run(&run_id)?;
    let contract = Arc::new(stored.contract()?);
    let entries: Vec<SealedEntry> = stored.collect::<Result<_, _>>()?;
    Ok(ChildState::Ended(Box::new(Recorded {
        contract,
        entries,
        run_id,
    })))
}

impl Recorded {
    /// Its end, made again from what is stored.
    pub(super) fn ended(&self) -> Result<Ended, DriverError> {
        let mut fold = Fold::new(Arc::clone(&self.contract));
        for entry in &self.entries {
            let Ok(Some(event)) = entry.decode_event() else {
                continue;
            };
            drop(fold.take(event));
        }
        let nothing = || DriverError::NothingRecorded {
            run_id: self.run_id.clone(),
        };
        let run = fold.into_run().ok_or_else(nothing)?;
        let outcome = run.outcome().ok_or_else(nothing)?;
        let last = self.entries.last().ok_or_else(nothing)?;
        let at = (last.seq.saturating_add(1), last.hash);
        Ok(Ended {
            child: ChildEnd::of(self.run_id.clone(), at, outcome, &run),
            report: report_of(&run),
        })
    }
}

/// The result of bringing an open run up again.
pub(super) enum UpAgain {
    /// Another process has brought it to its end meanwhile.
    Ended(Box<Recorded>),
    /// It stays as it is.
    Left,
    /// It is up.
    Up {
        /// True if it is to stop, and no process has asked it before: a second request would be an abort.
        is_to_stop: bool,
        prepared: Box<Prepared>,
    },
}

/// Brings an open run up again. Where the one above ends before it is up, it needs neither models nor tools, and is brought to its end;
/// it is left where the one above leaves.
pub(super) async fn up_again(
    open: Reopened,
    request: RunRequest,
    (store, link): (&Store, ChildLink),
    controls: &mut mpsc::Receiver<Control>,
    cancel: &CancellationToken,
) -> Result<UpAgain, DriverError> {
    let path = request.invocation.as_ref();
    let path = path.map(|begun| begun.contract_file.clone());
    let is_stopping = open.is_stopping();
    let preparing_ends = cancel.child_token();
    let (mut at_once, mut ends, mut left, mut stops) = (false, false, false, false);
    let mut take = |control| match control {
        Control::Parent | Control::Abort => {
            at_once |= control == Control::Abort;
            ends = true;
            preparing_ends.cancel();
        }
        Control::Suspend => {
            left = true;
            preparing_ends.cancel();
        }
        Control::Stop => stops = true,
        // No call of it waits for an answer yet.
        Control::Approve(_) | Control::Deny(_) => {}
    };
    let prepared = {
        let preparing = prepare_resume(open, request.clone(), &preparing_ends);
        let mut preparing = pin!(preparing);
        loop {
            tokio::select! {
                biased;
                Some(control) = controls.recv() => take(control),
                prepared = &mut preparing => break prepared,
            }
        }
    };
    while let Ok(control) = controls.try_recv() {
        take(control);
    }
    match prepared {
        // What is dropped is killed.
        Ok(prepared) if at_once => drop(prepared),
        Ok(prepared) if ends || left => prepared.close().await,
        Ok(prepared) => {
            return Ok(UpAgain::Up {
                is_to_stop: stops && !is_stopping,
                prepared: Box::new(prepared),
            });
        }
        Err(DriverError::Cancelled) => {}
        // It is to end, and does so without what does not come up.
        Err(_) if ends => {}
        Err(fault) => {
            let root = store.reader()?.goes_on_with(&link.child)?;
            return Err(fault.of_file(path).of_tree(root));
        }
    }
    if !ends {
        return Ok(UpAgain::Left);
    }
    Ok(
        match child_state(store, &request.environment, link).await? {
            ChildState::Open(open) => UpAgain::Up {
                is_to_stop: false,
                prepared: Box::new(prepare_end(
                    *open,
                    &request.environment,
                    &request.redaction_key,
                )),
            },
            ChildState::Ended(recorded) => UpAgain::Ended(recorded),
            ChildState::Absent | ChildState::NameTaken => UpAgain::Left,
        },
    )
}
