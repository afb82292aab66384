//! What a command stands in: folders, the store, keys, configuration, signals, faults with their exit codes.
//!
//! Knows where things are and how they are opened; of the screen only where to write. It knows no command.

pub(crate) mod accounting;
pub(crate) mod agent;
pub(crate) mod agents;
pub(crate) mod agents_reader;
pub(crate) mod answer_refusal;
pub(crate) mod app;
pub(crate) mod approval;
pub(crate) mod as_typed;
pub(crate) mod ask;
pub(crate) mod begun_below;
pub(crate) mod beyond;
pub(crate) mod changes;
pub(crate) mod clock;
mod config;
pub(crate) mod contract_file;
mod contract_values;
pub(crate) mod departed;
pub(crate) mod down_server;
pub(crate) mod error;
pub(crate) mod exit;
pub(crate) mod family;
pub(crate) mod file_limit;
pub(crate) mod forks;
pub(crate) mod form;
pub(crate) mod found;
pub(crate) mod interrupts;
pub(crate) mod judged;
pub(crate) mod keys;
pub(crate) mod knobs;
pub(crate) mod next_resume;
pub(crate) mod origin;
pub(crate) mod panics;
pub(crate) mod permissions;
pub(crate) mod reach;
pub(crate) mod reading;
pub(crate) mod root;
pub(crate) mod run_status;
pub(crate) mod runtime;
pub(crate) mod secrets;
pub(crate) mod session_runs;
pub(crate) mod signals;
pub(crate) mod source;
mod store;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod trust;
pub(crate) mod trusted;
pub(crate) mod unreached;
pub(crate) mod waiting_call;
pub(crate) mod workflow_entries;
