//! An unfinished run of the store, decided again up to where its transcript ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::confinement_decision::RecordedConfinement;
use crate::driver::ancestry::{Blobs, answered_before};
use crate::driver::{DriverError, Environment};
use crate::store::{CallerState, Invocation, RunLock, Store};
use monolith_core::contract::{ExecutionContract, SEMANTICS_VERSION};
use monolith_core::kernel::{CallOrder, Event, EventKind, ParentRun, Run, RunStarted};
use monolith_core::message::RunId;
use monolith_core::replay::{ReplayReport, Replayer, Unfinished};
use monolith_core::transcript::SealedEntry;

/// An unfinished run of the store: locked for this process, and decided again up to where its transcript ends.
pub struct Reopened {
    /// Number of requests that each provider had answered before the run began.
    pub(super) answered_before: BTreeMap<String, usize>,
    /// The decisions that the last process recorded, of this run and of each open run below it.
    pub(super) confinement: RecordedConfinement,
    pub(super) contract: Arc<ExecutionContract>,
    entries: Vec<SealedEntry>,
    invocation: Option<Invocation>,
    /// True if the run that began it has ended, and no longer waits for it.
    is_orphan: bool,
    pub(super) lock: RunLock,
    pub(super) started: RunStarted,
    pub(super) unfinished: Unfinished,
}

/// Locks an unfinished run and folds what is stored of it through a fresh machine. Nothing is written.
///
/// # Errors
/// [`DriverError::Store`] if another process drives the run or it cannot be read. Named errors if there is nothing to resume or
/// the transcript does not replay. A child run or a workflow step resumes with its parent while that is open; whether it is
/// must be known.
pub fn reopen(
    store: &Store,
    run_id: &RunId,
    environment: &Environment,
) -> Result<Reopened, DriverError> {
    let mut reopened = reopen_below(store, run_id, environment)?;
    let reader = store.reader()?;
    let (is_another, parent) = match reader.caller_of(run_id)? {
        CallerState::None => return Ok(reopened),
        CallerState::Ended => {
            reopened.is_orphan = true;
            return Ok(reopened);
        }
        CallerState::Open => {
            let (parent, run_id) = (reader.goes_on_with(run_id)?, run_id.clone());
            return Err(DriverError::Delegated { parent, run_id });
        }
        CallerState::NotHere(parent) => (false, parent),
        CallerState::Another(parent) => (true, parent),
    };
    Err(DriverError::CallerNotHere {
        is_another,
        parent,
        run_id: run_id.clone(),
    })
}

/// The same for the run that delegated to it.
pub(in crate::driver) fn reopen_below(
    store: &Store,
    run_id: &RunId,
    environment: &Environment,
) -> Result<Reopened, DriverError> {
    let lock = store.lock_run(run_id)?;
    let blobs = Blobs(store.reader()?);
    let invocation = blobs.0.invocation(run_id)?;
    let mut reader = store.reader()?;
    let stored = reader.read_run(run_id)?;
    if stored.row().outcome.is_some() {
        lock.discard();
        return Err(DriverError::RunEnded {
            run_id: run_id.clone(),
        });
    }
    let contract = stored.contract()?;
    if contract.semantics_version != SEMANTICS_VERSION {
        return Err(DriverError::UnknownSemantics {
            run_id: run_id.clone(),
            got: contract.semantics_version,
            known: SEMANTICS_VERSION,
        });
    }
    let contract = environment.shared().contract(contract);
    let entries: Vec<SealedEntry> = stored.collect::<Result<_, _>>()?;
    // Replaying knows nothing of signed checkpoints, indexes and blobs: a run that was cut would do again what it had done.
    let verified = reader.verify_run(run_id, true)?;
    if let Some(flaw) = &verified.first_bad {
        return Err(DriverError::DoesNotReplay {
            run_id: run_id.clone(),
            report: Box::new(ReplayReport::default().with_flaw(flaw)),
        });
    }
    let first = entries.first().map(SealedEntry::decode_event);
    let Some(Ok(Some(Event {
        event: EventKind::RunStarted(started),
        ..
    }))) = first
    else {
        return Err(DriverError::NothingRecorded {
            run_id: run_id.clone(),
        });
    };
    let mut replayer = Replayer::new(Arc::clone(&contract), run_id);
    for entry in &entries {
        replayer.take(entry, &blobs);
    }
    let does_not_replay = |report| DriverError::DoesNotReplay {
        run_id: run_id.clone(),
        report,
    };
    let unfinished = replayer.into_unfinished().map_err(does_not_replay)?;
    let answered_before = answered_before(&mut reader, &contract, &started)?;
    let mut confinement = RecordedConfinement::default();
    confinement.add(run_id, &entries);
    if !contract.agents.is_empty() {
        confinement.add_below(&mut reader, run_id)?;
    }
    Ok(Reopened {
        answered_before,
        confinement,
        contract,
        entries,
        invocation,
        is_orphan: false,
        lock,
        started: *started,
        unfinished,
    })
}

impl Reopened {
    /// The contract of the run, as it is stored.
    #[must_use]
    pub const fn contract(&self) -> &Arc<ExecutionContract> {
        &self.contract
    }

    /// Returns the recorded entries.
    #[must_use]
    pub fn entries(&self) -> &[SealedEntry] {
        &self.entries
    }

    /// Returns the invocation of the run, if recorded.
    #[must_use]
    pub const fn invocation(&self) -> Option<&Invocation> {
        self.invocation.as_ref()
    }

    /// Its name.
    #[must_use]
    pub const fn run_id(&self) -> &RunId {
        &self.started.run_id
    }

    /// The run that it is from, where it is from one.
    #[must_use]
    pub const fn parent(&self) -> Option<&ParentRun> {
        self.started.parent.as_ref()
    }

    /// Returns true if the run that began it has ended, and no longer waits for it: then it ends, too.
    #[must_use]
    pub const fn is_orphan(&self) -> bool {
        self.is_orphan
    }

    /// Returns true if somebody has asked it to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        let run = self.unfinished.session.run();
        run.is_some_and(Run::is_stopping)
    }

    /// Returns true if a resume ends it, because it was resumed as often as allowed.
    #[must_use]
    pub fn ends_if_resumed(&self) -> bool {
        let run = self.unfinished.session.run();
        run.is_some_and(Run::ends_if_resumed)
    }

    /// The call that waits for a person where the transcript ends.
    #[must_use]
    pub fn awaited(&self) -> Option<CallOrder> {
        self.unfinished.session.run().and_then(Run::awaited)
    }
}
