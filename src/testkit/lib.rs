//! Test code that several crates share: the bounds of long searches, skipped cases, and hand-made runs.

#![allow(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "test code: a panic fails the test"
)]

pub mod depth;
pub mod golden;
pub mod sample;
pub mod skipped;
pub mod work;
