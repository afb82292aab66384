//! The formats in which a run leaves the program: accounting lines, the result document, trajectories.
//!
//! Knows the accounting of 000 §4, the AIAgentResult that every caller gets in every case, and a sentence for each outcome
//! code, the tag and the summary that a run ends with, and the interchange format of trajectories. All of these are pure functions
//! of a `RunView`, so a stored run gives the same document as the run that has just ended. Only the billing file is
//! written: one line for each request and each call, once nothing changes it any more. It does not know where entries come from,
//! and it folds none.
//!
//! ```text
//! RunView ────────────┬─▶ lines of what has ended ─▶ BillingFile
//!                     ├─▶ summary, lines of --verbose
//! Run (conversation) ─┴─▶ AgentResult ─▶ one JSON document
//! RunView, those below it ─▶ SessionSnapshot ─▶ one JSON document, lines of --show-tree
//! RunView, Entry… ─▶ AtifTrajectory ─▶ one JSON document
//! ```

mod accounting;
mod atif;
mod billing;
mod exit_tag;
mod failures;
mod lines;
mod log_line;
mod provider_refusal;
mod reason;
mod result;
mod saved_content;
mod saved_conversation;
mod sentence;
mod server_log;
mod session_log;
mod session_tree;
mod summary;
#[cfg(test)]
mod tests;
mod verbose;

pub use accounting::{
    AccountingLine, AccountingStatus, AccountingTokens, CostSource, LlmLine, ToolLine,
};
pub use accounting::{CallSource, Purpose};
pub use atif::AtifTrajectory;
pub use billing::{BillingFault, BillingFile, RecordedLines};
pub use exit_tag::ExitTag;
pub use failures::words_of_note;
pub use log_line::{LogLine, Severity};
pub use provider_refusal::{
    keyless, last_request, last_target, misled, played_out, refused_key_of, refused_request,
    silent, went_away,
};
pub use reason::{denied_calls, failed_calls, headline, why};
pub use result::{
    AgentResult, AwaitedApproval, FinalReport, Listed, ReportStatus, ResultCounters, ResultMessage,
};
pub use saved_conversation::{MOST_SAVED_BYTES, saved_conversation};
pub use sentence::{sentence, workflow_sentence};
pub use server_log::with_short_log;
pub use session_tree::{Session, SessionSnapshot, SnapshotReason, origin_uuid};
pub use summary::{cost, unseen_results};
pub use verbose::{thinking_line, verbose_lines};
