//! `monolith work`: items of agents that change a folder completely or not at all, and their receipts.
//!
//! Knows how items are watched and reported. The service decides which item begins and what becomes of it.

mod args;
mod item;
#[cfg(unix)]
mod receipt;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod shown;

pub(crate) use self::args::WorkCommand;
#[cfg(not(unix))]
pub(crate) use self::args::work;
pub(crate) use self::item::{ItemForm, show_item};
#[cfg(unix)]
pub(crate) use self::receipt::work;
