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
    /// True if the person at the terminal is asked questions.
    pub(crate) asks: bool,
    pub(crate) screen: Screen,
    pub(crate) service: Service,
    /// True if an answer is shown while it arrives.
    pub(crate) streams: bool,
}

impl Deref for App {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

impl App {
    /// Like this, but asks nobody: many runs are driven at once.
    pub(crate) fn without_questions(&self) -> Self {
        Self {
            asks: false,
            ..self.clone()
        }
    }
}
