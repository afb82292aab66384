//! The surface that work items are run for. Its methods are called in the tasks of the items, and do nothing by default.

use crate::drive::display::Display;
use monolith_core::work::WorkState;

/// An item that has another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemNow<'a> {
    /// The item.
    pub id: &'a str,
    /// Its level, from 0.
    pub level: usize,
    /// The number of levels.
    pub levels: usize,
    /// Its state.
    pub state: WorkState,
}

/// A surface that work items are run for.
pub trait WorkSurface: Send + Sync {
    /// Returns the display of one agent's run, which nobody watches by itself.
    fn display(&self) -> Box<dyn Display>;

    /// Shows that an item has another state.
    fn item(&self, _: ItemNow<'_>) {}

    /// Shows a warning: the other items continue.
    fn warn(&self, _: &str) {}
}
