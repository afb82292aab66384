//! The commands, one file each: arguments in, output and an exit code out.

mod adapters;
mod approval;
pub(super) mod approve;
mod ask;
mod check_report;
mod checkup;
pub(super) mod contract;
pub(super) mod corpus;
pub(super) mod demo;
mod diff;
#[cfg(test)]
mod display_tests;
pub(super) mod doctor;
mod dry_precheck;
mod entry_row;
pub(super) mod erase;
pub(super) mod export;
mod exported;
mod follow;
pub(super) mod import;
pub(super) mod init;
pub(super) mod key;
pub(super) mod list;
mod list_filter;
mod live;
pub(super) mod log;
mod log_check;
mod looser;
pub(super) mod machine;
pub(super) mod migrate;
pub(super) mod model;
mod model_pull;
mod offer;
mod overview;
mod pin_file;
pub(super) mod profile;
mod reach;
mod reading;
mod replay;
mod replay_contract;
mod replay_fork;
mod replay_live;
pub(super) mod replay_modes;
pub(super) mod resume;
pub(super) mod run;
mod runtime;
pub(super) mod show;
mod shown_run;
mod signals;
pub(super) mod slow_tool;
#[cfg(feature = "local")]
pub(super) mod template;
mod told_metrics;
mod tree;
#[cfg(feature = "local")]
pub(super) mod try_model;
pub(super) mod verify;
