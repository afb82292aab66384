//! What a run looks like from outside: entries in, accounting lines and the result document out.
//!
//! Knows the accounting of 000 §4, the AIAgentResult that every caller gets in every case, and a sentence for each outcome
//! code, and the interchange format of trajectories. Everything here is a pure function of a contract and entries, so a stored run gives the same document as the run
//! that has just ended. It does not know where entries come from, and it sends nothing anywhere.
//!
//! ```text
//! (Action, Event)… ─▶ Ledger ─┐
//! Run (conversation) ─────────┴─▶ AgentResult ─▶ one JSON document
//! (Action, Event)… ─▶ AtifTrajectory ─▶ one JSON document
//! ```

mod accounting;
mod atif;
mod ledger;
mod reason;
mod result;
#[cfg(test)]
mod tests;

pub use accounting::{AccountingLine, AccountingStatus, AccountingTokens, LlmLine, ToolLine};
pub use atif::{ATIF_VERSION, AtifTrajectory};
pub use ledger::Ledger;
pub use reason::sentence;
pub use result::{
    AgentResult, FinalReport, RESULT_FORMAT, ReportStatus, ResultCounters, ResultMessage,
};
