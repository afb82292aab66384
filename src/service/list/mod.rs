//! The runs of a store.

pub mod document;
pub mod found;
mod held;
pub mod outcome_names;
pub mod runs;
