//! A run for display.

pub mod departure;
pub mod diff;
pub mod entry_row;
pub mod figures;
pub mod follow;
pub mod item;
mod malformed;
pub mod next_step;
pub mod shown_run;
pub mod stored;
pub mod tree;
pub mod withheld;
