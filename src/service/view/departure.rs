//! A display that does not show the machine's state (002 Invariant D).

use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::service::Service;
use crate::text::escape::line;
use crate::verify::report::require_verified;
use monolith_core::view::{Divergence, RunView};

/// Returns the line that a surface shows before such a run.
#[must_use]
pub fn departed(departure: &Divergence) -> String {
    let place = line(&departure.to_string());
    format!("NOT THE STATE OF THE RUN: {place}; monolith replay derives it again")
}

/// Refuses to make a result of a run whose view departs from the machine.
///
/// # Errors
///
/// [`TranscriptFault::Departed`].
pub fn agreeing(asked: &str, view: &RunView) -> Result<(), ServiceError> {
    match view.departure() {
        None => Ok(()),
        Some(departure) => Err(TranscriptFault::Departed {
            asked: asked.to_owned(),
            departure: departure.clone(),
        }
        .into()),
    }
}

/// Returns the view of a run that verifies and agrees with the machine.
///
/// # Errors
///
/// [`TranscriptFault::NotVerified`], [`TranscriptFault::Departed`], or the run cannot be read.
pub fn verified_view(service: &Service, asked: &str) -> Result<RunView, ServiceError> {
    require_verified(service, asked)?;
    let view = service.source(asked)?.each_step(|_, _, _| Ok(()))?;
    agreeing(asked, &view)?;
    Ok(view)
}
