//! A run for display.

pub mod malformed;
