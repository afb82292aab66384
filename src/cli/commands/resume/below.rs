//! Ends what is open below a run that has ended: nothing waits for its result any more. Goes on with nothing.

use crate::commands::drive::{Broken, Ended, LeavingArgs, Live, drive_to_the_end};
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_host::driver::{self, DriverError, Reopened};
use monolith_host::store::{Durability, Store};
use monolith_service::error::ServiceError;

/// How runs are driven to their end.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndTerms {
    pub(super) durability: Durability,
    pub(super) leaving: LeavingArgs,
}

/// Ends every open run below one that has ended. What keeps one of them open is reported once each was tried: the first fault.
pub(super) fn end_all_below(
    app: &App,
    run_id: &RunId,
    terms: EndTerms,
) -> Result<(), ServiceError> {
    let Some(mut reader) = app.reader()? else {
        return Ok(());
    };
    let open = reader.open_below(run_id)?;
    if open.is_empty() {
        return Ok(());
    }
    let store = app.open_store(terms.durability)?;
    let mut first_fault = None;
    for below in &open {
        if let Err(fault) = end_below(app, &store, below, terms) {
            first_fault = first_fault.or(Some(fault.error));
        }
    }
    first_fault.map_or(Ok(()), Err)
}

fn end_below(app: &App, store: &Store, below: &RunId, terms: EndTerms) -> Result<(), Broken> {
    match driver::reopen(store, below, &app.environment) {
        // Another process has brought it to its end meanwhile.
        Err(DriverError::RunEnded { .. }) => Ok(()),
        Err(fault) => Err(fault.into()),
        Ok(reopened) => end_orphan(app, store, reopened, terms).map(drop),
    }
}

/// Ends a run below one that has ended.
pub(super) fn end_orphan(
    app: &App,
    store: &Store,
    reopened: Reopened,
    terms: EndTerms,
) -> Result<Ended, Broken> {
    let live = Live::accounting(app, None, terms.durability)?;
    if let Some(parent) = reopened.parent() {
        let (run, above) = (reopened.run_id(), &parent.run_id);
        let note = format!("note: {above}, which began {run}, has ended: {run} is ended, too\n");
        app.screen.write_err(&note);
        if let Some(first) = app.first_of(run)? {
            live.originating_from(first);
        }
    }
    live.recall(reopened.contract(), reopened.entries())?;
    let prepared = driver::prepare_end(reopened, &app.environment, &app.redaction_key()?);
    drive_to_the_end(None, store, &live, terms.leaving, async |_| Ok(prepared))
}
