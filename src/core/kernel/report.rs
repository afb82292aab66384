//! The final report as the machine keeps it: given, or why not. Whether it fits its schema was judged before.

use super::ReportSource;
use super::texts::FailedReason;
use crate::contract::FinalReport;
use crate::message::estimate_tokens;

/// The final report of the run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Report {
    /// There is none.
    #[default]
    None,
    /// A valid one that waits until the calls beside it have ended.
    Held(FinalReport),
    /// One that failed.
    Broken(FailedReason),
    /// The report of the run, and how it was given.
    Accepted(FinalReport, ReportSource),
}

impl Report {
    /// What the answer to a failed one weighs; the others are answered by what is around them.
    pub(super) fn answer_tokens(&self) -> u64 {
        match self {
            Self::Broken(reason) => estimate_tokens(&reason.observation()),
            Self::None | Self::Held(_) | Self::Accepted(_, _) => 0,
        }
    }

    /// What of it a decision can depend on.
    pub(super) const fn key(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Held(_) => 1,
            Self::Broken(_) => 2,
            Self::Accepted(_, ReportSource::Tool) => 3,
            Self::Accepted(_, ReportSource::Text) => 4,
        }
    }
}
