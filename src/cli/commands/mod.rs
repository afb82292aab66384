//! The commands, one folder each.
//!
//! A folder has `args` (what the command line gives), `run` (what is done) and, where there is more to show than a line,
//! `render` (the text). It may name the screen and the context; of another command only what that one's `mod.rs` exports.

pub(in crate::cli) mod agent;
pub(in crate::cli) mod approvals;
pub(in crate::cli) mod approve;
pub(in crate::cli) mod chat;
pub(in crate::cli) mod completions;
pub(in crate::cli) mod config;
pub(in crate::cli) mod continuation;
pub(in crate::cli) mod contract;
pub(in crate::cli) mod corpus;
pub(in crate::cli) mod delete;
pub(in crate::cli) mod demo;
pub(in crate::cli) mod doctor;
pub(in crate::cli) mod drive;
pub(in crate::cli) mod erase;
pub(in crate::cli) mod export;
pub(in crate::cli) mod import;
pub(in crate::cli) mod init;
pub(in crate::cli) mod internal;
pub(in crate::cli) mod key;
pub(in crate::cli) mod list;
pub(in crate::cli) mod log;
pub(in crate::cli) mod machine;
pub(in crate::cli) mod man;
pub(in crate::cli) mod many;
pub(in crate::cli) mod mcp;
pub(in crate::cli) mod migrate;
pub(in crate::cli) mod model;
pub(in crate::cli) mod profile;
pub(in crate::cli) mod replay;
pub(in crate::cli) mod resume;
pub(in crate::cli) mod run;
pub(in crate::cli) mod show;
pub(in crate::cli) mod tools;
pub(in crate::cli) mod trust;
pub(in crate::cli) mod undo;
pub(in crate::cli) mod values;
pub(in crate::cli) mod verify;
pub(in crate::cli) mod workflow;
