//! The results of each corpus command, as text for people.

mod cases;
mod coverage;
mod live;
mod metrics;
mod verdicts;

pub(in crate::commands::corpus) use self::cases::cases_text;
pub(in crate::commands::corpus) use self::coverage::coverage_text;
pub(in crate::commands::corpus) use self::live::{live_text, record_text};
pub(in crate::commands::corpus) use self::verdicts::verdicts_text;
