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

pub(crate) use self::args::ContractCommand;
pub(crate) use self::check_report::code_of;
pub(crate) use self::failures::{failures, known_failures};
pub(crate) use self::preview::{preview_of, preview_on, report_gaps, report_warnings};
pub(crate) use self::refused::refuse_file;
pub(crate) use self::run::{check_file, contract, judge, judge_terms};
