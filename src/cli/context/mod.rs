//! What a command stands in: folders, the store, keys, configuration, signals, faults with their exit codes.
//!
//! Knows where things are and how they are opened; of the screen only where to write. It knows no command.

pub(in crate::cli) mod accounting;
pub(in crate::cli) mod agent;
pub(in crate::cli) mod agents;
pub(in crate::cli) mod agents_reader;
pub(in crate::cli) mod answer_refusal;
pub(in crate::cli) mod app;
pub(in crate::cli) mod approval;
pub(in crate::cli) mod as_typed;
pub(in crate::cli) mod ask;
pub(in crate::cli) mod begun_below;
pub(in crate::cli) mod changes;
pub(in crate::cli) mod clock;
mod config;
pub(in crate::cli) mod contract_file;
mod contract_values;
pub(in crate::cli) mod departed;
pub(in crate::cli) mod down_server;
pub(in crate::cli) mod error;
pub(in crate::cli) mod exit;
pub(in crate::cli) mod family;
pub(in crate::cli) mod file_limit;
pub(in crate::cli) mod forks;
pub(in crate::cli) mod form;
pub(in crate::cli) mod found;
pub(in crate::cli) mod interrupts;
pub(in crate::cli) mod keys;
pub(in crate::cli) mod knobs;
pub(in crate::cli) mod next_resume;
pub(in crate::cli) mod origin;
pub(in crate::cli) mod panics;
pub(in crate::cli) mod permissions;
pub(in crate::cli) mod reach;
pub(in crate::cli) mod reading;
pub(in crate::cli) mod root;
pub(in crate::cli) mod run_status;
pub(in crate::cli) mod runtime;
pub(in crate::cli) mod secrets;
pub(in crate::cli) mod session_runs;
pub(in crate::cli) mod signals;
pub(in crate::cli) mod source;
mod store;
#[cfg(test)]
pub(in crate::cli) mod testing;
pub(in crate::cli) mod trust;
pub(in crate::cli) mod trusted;
pub(in crate::cli) mod unreached;
pub(in crate::cli) mod waiting_call;
pub(in crate::cli) mod workflow_entries;
