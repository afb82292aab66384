//! `monolith contract`: what a contract file comes to, without running it.

mod args;
mod below;
mod check_report;
mod dry_precheck;
mod failures;
mod pin;
mod preview;
mod refused;
mod run;
mod workflow;

pub(in crate::cli) use self::args::ContractCommand;
pub(in crate::cli) use self::check_report::code_of;
pub(in crate::cli) use self::failures::{failures, known_failures};
pub(in crate::cli) use self::preview::{preview_of, preview_on, report_gaps, report_warnings};
pub(in crate::cli) use self::refused::refuse_file;
pub(in crate::cli) use self::run::{check_file, contract, judge, judge_terms};
