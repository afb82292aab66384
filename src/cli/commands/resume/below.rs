//! Ends what is open below a run that has ended: nothing waits for its result any more. Goes on with nothing.

use super::run::drive_open;
use crate::commands::drive::LeavingArgs;
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_host::store::{Durability, Store};
use monolith_service::drive::ended::Broken;
use monolith_service::drive::resume::OpenRun;
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
    match OpenRun::child_of_ended(app, store, below)? {
        None => Ok(()),
        Some(run) => drive_open(app, run, terms.durability, terms.leaving).map(drop),
    }
}
