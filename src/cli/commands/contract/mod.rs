//! `monolith contract`: what a contract file comes to, without running it.

mod args;
mod pin;
mod preview;
mod run;
mod workflow;

pub(crate) use self::args::ContractCommand;
pub(crate) use self::preview::{preview_of, preview_on, refuse_file, report_gaps, report_warnings};
pub(crate) use self::run::{check_file, contract, judge, judge_terms};
