//! The commands, one file each: arguments in, output and an exit code out.

mod adapters;
pub(super) mod contract;
pub(super) mod corpus;
pub(super) mod demo;
pub(super) mod export;
pub(super) mod key;
pub(super) mod list;
mod live;
pub(super) mod log;
pub(super) mod machine;
mod overview;
pub(super) mod replay;
pub(super) mod resume;
pub(super) mod run;
pub(super) mod show;
mod signals;
pub(super) mod slow_tool;
pub(super) mod verify;
