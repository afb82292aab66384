//! The service layer: one function for each thing that a person or a program can do with runs.
//!
//! Data in, data out. It holds the policy of trust, approval and resume, and every surface calls it. It prints nothing, asks
//! nobody and parses no arguments; what a surface has to ask about is a value of an error.

#![warn(unreachable_pub)]
// The compiler proves that a future is `Send` through all that it awaits, down to the driver of the runtime.
#![recursion_limit = "256"]

pub mod agent;
pub mod agents;
pub mod agents_reader;
pub mod answer_refusal;
pub mod approval;
pub mod approvals;
pub mod approve;
pub mod as_typed;
pub mod begun_below;
mod beyond;
pub mod changes;
pub mod chat;
pub mod check;
pub mod clock;
mod config;
pub mod contract_file;
mod contract_values;
pub mod delete;
pub mod drive;
#[expect(missing_docs, reason = "the message of each error shows its fields")]
pub mod error;
pub mod exit;
pub mod export;
pub mod family;
pub mod forks;
pub mod form;
pub mod found;
pub mod import;
pub mod keys;
pub mod list;
pub mod log;
pub mod logins;
pub mod many;
pub mod migrate;
pub mod next_resume;
pub mod origin;
pub mod panics;
pub mod permissions;
pub mod remedy;
pub mod replay;
pub mod root;
pub mod run_status;
pub mod secrets;
pub mod service;
pub mod session_pipe;
pub mod session_runs;
pub mod source;
mod store;
pub mod text;
pub mod tools;
pub mod trust;
pub mod trust_file;
pub mod trusted;
pub mod undo;
pub mod unreached;
pub mod untrusted;
pub mod verify;
pub mod view;
pub mod waiting_call;
#[cfg(unix)]
pub mod work;
pub mod work_entries;
pub mod workflow;
pub mod workflow_entries;

pub use error::ServiceError;
pub use error::diagnosis::Diagnosis;
pub use service::Service;
