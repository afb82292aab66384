//! The runs of a store.

pub mod found;
pub mod held;
