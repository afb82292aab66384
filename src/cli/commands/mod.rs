//! The commands, one file or folder each: arguments, one call of the service, text.
//!
//! A command has its arguments (what the command line gives), a function (the request for the service, and the exit code) and the
//! text for people. It may name the screen and the context; of another command only what that one's `mod.rs` exports.

pub(crate) mod agent;
pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod continuation;
pub(crate) mod contract;
pub(crate) mod corpus;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod drive;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod internal;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod machine;
pub(crate) mod man;
pub(crate) mod many;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod model;
pub(crate) mod profile;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod values;
pub(crate) mod verify;
pub(crate) mod work;
pub(crate) mod workflow;
