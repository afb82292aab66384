//! `monolith contract`: what a contract file comes to, without running it.

mod args;
mod below;
mod check_report;
mod dry_precheck;
mod pin;
mod preview;
mod run;

pub(in crate::cli) use self::args::ContractCommand;
pub(in crate::cli) use self::check_report::{code_of, failures};
pub(in crate::cli) use self::preview::{preview_of, preview_on, report_gaps, report_warnings};
pub(in crate::cli) use self::run::{check_file, contract, judge, refuse_file};
