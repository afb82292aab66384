//! A backend that fails every request with a given reason. Connects to nothing.

use super::{Probe, TransportFault, TransportFaultKind};

/// A backend that cannot be there, and why: it never answers.
#[derive(Clone, Debug)]
pub struct UnavailableBackend {
    /// For people.
    pub reason: String,
}

impl UnavailableBackend {
    pub(super) fn probe(&self) -> Probe {
        Probe {
            detail: self.reason.clone(),
            responsive: false,
            ..Probe::default()
        }
    }

    pub(super) fn fault(&self) -> TransportFault {
        TransportFault::new(TransportFaultKind::Engine, self.reason.clone())
    }
}
