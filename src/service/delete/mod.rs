//! Runs that a deletion would break.

pub mod needed;
