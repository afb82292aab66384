//! A contract judged without a run.

mod below;
pub mod check_report;
pub mod contract;
mod dry_precheck;
pub mod failures;
pub mod pin;
pub mod preview;
