//! One run as facts: its entries and events folded once, for every display and export.
//!
//! Knows the turns of a run, its requests, calls (parts of batches too), approvals, final reports in tags, usage, what PRECHECK
//! found, and which predicate decided what; and whether the entries are those that the machine makes of the events
//! (`agreement`). It does not know words, layout, clocks, or where entries are kept: `telemetry` writes
//! formats from it, `cli` lines for people. It keeps the arguments of calls and no other text of a model or a tool, so what shows
//! a message reads it from the entry at hand.
//!
//! ```text
//! Entry {action, event, hash} ─▶ RunView::take ─▶ Step (what passed since the entry before)
//!                                    │
//!                                    └─▶ turns │ requests │ calls │ approvals │ reports │ usage │ preflight │ decisions
//! ```

mod agreement;
mod approvals;
mod call;
mod calls;
mod entry;
mod reports;
mod requested_calls;
mod requests;
mod run_start;
mod run_view;
mod servers;
#[cfg(test)]
mod tests;
mod tree_usage;
mod turns;
mod work_changes;

pub use agreement::Divergence;
pub use approvals::{ApprovalEnd, Approvals};
pub use call::{Call, CallEnd, Execution};
pub use entry::DecodedEntry;
pub use entry::Entry;
pub use reports::{Report, ReportFault};
pub use requested_calls::Refusal;
pub use requests::{LastRequest, Request, RequestEnd, RequestPurpose, has_web_page};
pub use run_start::{Preflight, RunOutline, RunStart};
pub use run_view::RunView;
pub use run_view::{Offence, Step};
pub use tree_usage::TreeUsage;
pub use turns::Activity;
