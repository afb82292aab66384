//! What a run looks like from outside: entries in, accounting lines and the result document out.
//!
//! Knows the accounting of 000 §4, the AIAgentResult that every caller gets in every case, and a sentence for each outcome
//! code, the tag and the summary that a run ends with, and the interchange format of trajectories. All of these are pure functions
//! of a contract and entries, so a stored run gives the same document as the run that has just ended. Only the billing file is
//! written: one line for each request and each call, once nothing changes it any more. It does not know where entries come from.
//!
//! ```text
//! (Action, Event)… ─▶ Ledger ─┬─▶ closed lines ─▶ BillingFile
//!                             ├─▶ summary
//! Run (conversation) ─────────┴─▶ AgentResult ─▶ one JSON document
//! (Action, Event)… ─▶ AtifTrajectory ─▶ one JSON document
//! ```

mod accounting;
mod atif;
mod billing;
mod exit_tag;
mod ledger;
mod reason;
mod reports;
mod result;
mod summary;
#[cfg(test)]
mod tests;

pub use accounting::{
    AccountingLine, AccountingStatus, AccountingTokens, CostSource, LlmLine, ToolLine,
};
pub(crate) use accounting::{CallSource, Purpose};
pub(crate) use atif::AtifTrajectory;
pub(crate) use billing::{BillingFault, BillingFile};
pub use exit_tag::ExitTag;
pub(crate) use ledger::Approvals;
pub use ledger::Ledger;
pub(crate) use reason::sentence;
pub use result::{AgentResult, FinalReport, ReportStatus, ResultCounters, ResultMessage};
