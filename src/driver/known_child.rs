//! What the store has of the run of an agent's call: nothing, an open run, or one that has ended. Drives none.

use std::sync::Arc;

use super::blocking::blocking;
use super::bring_up::reopen_below;
use super::{DriverError, Environment, Reopened};
use crate::contract::ExecutionContract;
use crate::kernel::{ChildEnd, Fold, Run};
use crate::message::{CallSeq, RunId};
use crate::replay::ReplayReport;
use crate::store::{Lineage, Store, StoreError};
use crate::transcript::SealedEntry;

/// How a run ended, and what it reported.
#[derive(Clone)]
pub(super) struct Ended {
    pub(super) child: ChildEnd,
    pub(super) report: Option<String>,
}

/// What a run that has ended well says: its report, else its last message.
pub(super) fn report_of(run: &Run) -> Option<String> {
    run.outcome().filter(|outcome| outcome.class.is_success())?;
    if let Some(report) = run.final_report() {
        return Some(report.text().to_owned());
    }
    let last = run.conversation().last()?;
    Some(last.content.clone())
}

/// What the store knows of the run of a call.
pub(super) enum Known {
    None,
    /// Another run has its name.
    Taken,
    Open(Box<Reopened>),
    Ended(Box<Recorded>),
}

/// A run that has ended, and what is stored of it.
pub(super) struct Recorded {
    pub(super) contract: Arc<ExecutionContract>,
    pub(super) ended: Ended,
    pub(super) entries: Vec<SealedEntry>,
}

/// Which run the run of a call is.
pub(super) struct Link {
    pub(super) call: CallSeq,
    pub(super) child: RunId,
    pub(super) parent: RunId,
}

impl Link {
    fn is_of(&self, lineage: Option<Lineage>) -> bool {
        lineage.is_some_and(|found| {
            found.parent.run_id == self.parent && found.parent.call == Some(self.call)
        })
    }
}

/// Looks the run of a call up, on a thread of its own. An open one is locked for this process.
pub(super) async fn known(
    store: &Store,
    environment: &Environment,
    link: Link,
) -> Result<Known, DriverError> {
    let (store, environment) = (store.clone(), environment.clone());
    let look = move || {
        let mut reader = store.reader()?;
        match reader.read_run(&link.child).map(drop) {
            Err(StoreError::NoSuchRun { .. }) => {
                return not_deleted(&store, &link.child, &link.parent).map(|()| Known::None);
            }
            read => read?,
        }
        // Another one may be driven elsewhere, or be damaged: that is no concern of this run.
        if !link.is_of(reader.lineage(&link.child)?) {
            return Ok(Known::Taken);
        }
        drop(reader);
        match reopen_below(&store, &link.child, &environment) {
            Ok(reopened) => Ok(Known::Open(Box::new(reopened))),
            Err(DriverError::RunEnded { .. }) => ended(&store, &link),
            Err(fault) => Err(fault),
        }
    };
    blocking(look).await
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
