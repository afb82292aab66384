//! A contract judged without a run.

pub mod below;
pub mod check_report;
pub mod dry_precheck;
pub mod failures;
pub mod preview;
