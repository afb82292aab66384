//! Work items (004): run level by level, published or left without a trace, with a receipt each; verified, listed, thawed and replayed.
//!
//! Knows which agent does an item, under which terms its run is begun, which of its calls act outside the tree, and when an item may
//! publish. Decides nothing that the machine of `core/work` decides, and changes no file of a tree: the host's `work_tree` does that.
//!
//! ```text
//! WorkFile ─▶ WorkRun::open (lock, recovery, settle, dependencies) ─▶ levels ─▶ ItemTask ─▶ Work (machine) ─▶ WorkRecord ─▶ receipt
//!                                                                          │  ▲
//!                                  prepare · run · compare · test · publish ◀──┘
//! ```

mod agent;
mod answer;
mod attempt;
mod clock;
mod common;
mod conflicts;
mod contents;
mod end;
pub mod file;
mod forget;
mod git;
mod git_index;
mod hunks;
mod item;
mod leftovers;
mod level;
mod publishing;
mod receipt_files;
pub mod receipts;
pub mod replay;
mod rows;
pub mod run;
mod sealing;
mod settle;
mod steps;
pub mod surface;
pub mod thaw;
mod undeletable;
pub mod verify;

pub(crate) use self::forget::DeletedItems;
pub(crate) use self::undeletable::{Reconciler, judge_open_items};
