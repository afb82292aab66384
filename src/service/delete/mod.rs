//! The end of runs: deletion, and the erasure of a blob.

pub mod erase;
mod needed;
pub mod runs;
