//! What a tool server asked for during a call, kept until the call has ended. Does not know protocols.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::message::{InputExchange, Scrubber};

/// The most exchanges of one call.
const MOST: usize = 100;

/// What a server asked for during one call, and what it got.
#[derive(Debug, Default)]
pub(crate) struct ExchangeLog(Mutex<Vec<InputExchange>>);

impl ExchangeLog {
    /// Adds an exchange, scrubbed before it is cut.
    pub(super) fn add(&self, mut exchange: InputExchange, scrub: &dyn Scrubber) {
        exchange.change_texts(|text| scrub.owned_text(text.to_owned()));
        self.exchanges().push(exchange.bounded());
    }

    /// Whether a call has asked as often as it may.
    pub(super) fn is_full(&self) -> bool {
        self.exchanges().len() >= MOST
    }

    /// All of them, in their order; none is left.
    pub(crate) fn take(&self) -> Vec<InputExchange> {
        std::mem::take(&mut *self.exchanges())
    }

    fn exchanges(&self) -> MutexGuard<'_, Vec<InputExchange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
