//! The surface that every command works in: the service, the screen, and what is asked and shown. Opens nothing.

use std::ops::Deref;

use super::accounting::AccountingArgs;
use crate::ui::screen::Screen;
use monolith_service::service::Service;

/// The service with the screen of this process. It stands for its service wherever one is wanted.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// Reports of a run beside its result.
    pub(crate) accounting: AccountingArgs,
    pub(crate) screen: Screen,
    pub(crate) service: Service,
    /// True if each transition of a run is shown to a person who watches it.
    pub(crate) shows_transitions: bool,
    /// True if an answer is shown while it arrives.
    pub(crate) streams: bool,
}

impl Deref for App {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}
