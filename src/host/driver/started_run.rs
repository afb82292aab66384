//! The lock, the recorder and the session of a run that begins or is gone on with.

use std::sync::Arc;

use super::DriverError;
use super::bring_up::Resumption;
use super::recorder::Recorder;
use crate::store::{Binding, Invocation, NewRun, RunLock, Store, StoreError};
use monolith_core::kernel::RunStarted;
use monolith_core::message::{RunId, Scrubber, TokenCounter};
use monolith_core::session::{Input, Session};

/// A run that this process, and no other, drives from now on.
pub(super) struct StartedRun<'s> {
    pub(super) at_ms: u64,
    /// The first input of the session.
    pub(super) first: Input,
    pub(super) lock: RunLock,
    /// Whether the run that delegated to it has ended.
    pub(super) orphan: bool,
    pub(super) recorder: Recorder<'s>,
    pub(super) session: Session,
    pub(super) started_unix_ms: u64,
}

impl<'s> StartedRun<'s> {
    pub(super) fn new(
        store: &'s Store,
        invocation: Option<Invocation>,
        started: RunStarted,
        session: Session,
    ) -> Result<Self, DriverError> {
        let started_unix_ms = started.started_unix_ms;
        let run_id = started.run_id.clone();
        // Whether a process drives the run of that name now or not, the name is taken.
        let lock = store.lock_run(&run_id).map_err(|fault| match fault {
            StoreError::RunLocked { run_id, .. } => StoreError::RunExists { run_id },
            other => other,
        })?;
        // A run of an older tree would be taken for one of its agents; one below another run has a name that was looked at with that.
        let is_first = started
            .parent
            .as_ref()
            .is_none_or(|from| from.call.is_none());
        if is_first && !session.contract().agents.is_empty() {
            let taken = store.reader()?.named_below(&run_id)?.into_iter().next();
            if let Some(taken) = taken {
                lock.discard();
                return Err(DriverError::NameBelowTaken { run_id, taken });
            }
        }
        let new = NewRun {
            binding: Binding::Contract(Arc::clone(session.contract())),
            created_unix_ms: started_unix_ms,
            invocation,
            run_id,
        };
        Ok(Self {
            at_ms: 0,
            first: Input::Start(Box::new(started)),
            lock,
            orphan: false,
            recorder: Recorder::beginning(store, new),
            session,
            started_unix_ms,
        })
    }

    pub(super) async fn resumed(
        store: &'s Store,
        run_id: &RunId,
        resumption: Resumption,
        (counter, scrubber): (Arc<dyn TokenCounter>, Arc<dyn Scrubber>),
    ) -> Result<Self, DriverError> {
        let Resumption {
            at_ms,
            first,
            head,
            lock,
            orphan,
            session,
            started_unix_ms,
        } = resumption;
        let handle = store.claim_run(run_id).await?;
        // Another process that does not know the lock has written since the run was read.
        if handle.chain().head() != head {
            let run_id = run_id.clone();
            return Err(StoreError::Fenced { run_id }.into());
        }
        Ok(Self {
            at_ms,
            first,
            lock,
            orphan,
            recorder: Recorder::going_on(store, handle),
            session: session.resume(counter, scrubber)?,
            started_unix_ms,
        })
    }
}
