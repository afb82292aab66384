//! The context of a command: folders, the store, keys, configuration, signals, errors with their exit codes.
//!
//! Knows where things are and how they are opened; of the screen only where to write. It knows no command.

pub(crate) mod accounting;
pub(crate) mod app;
pub(crate) mod ask;
pub(crate) mod departed;
pub(crate) mod fault;
pub(crate) mod interrupts;
pub(crate) mod judged;
pub(crate) mod knobs;
pub(crate) mod panics;
pub(crate) mod places;
pub(crate) mod reach;
pub(crate) mod reading;
pub(crate) mod root;
pub(crate) mod runtime;
pub(crate) mod signals;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod trust;
