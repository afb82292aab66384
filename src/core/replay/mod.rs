//! Replay: a fresh session is given the recorded events, and must decide what was recorded, byte for byte.
//!
//! Knows how to make a run again in a [`Session`](crate::session::Session), how to hold each recorded response against what its bytes
//! are judged to be now, how to name the first difference and what it comes from (semantics §10), and how to align two runs by
//! their decisions. It asks no model and no tool, writes no request itself, and does not know where a transcript is kept: entries
//! are handed in, blobs come through [`BlobSource`].
//!
//! [`Requerier`] finds what of a run can be asked again, and compares what a host brings back. [`WhatIf`] gives the recorded events to
//! a session under another contract, as far as they answer what that one asks.
//!
//! ```text
//! stored entry ─▶ hash chain ─▶ event ─▶ its bytes judged again ─▶ Session ─▶ entry ──┐
//!      └──────────────────────────────────────── equal, byte for byte? ◀──────────────┘
//! ```

mod align;
mod boundary;
mod closed_history;
mod decision;
mod difference;
mod fork;
mod pointer;
mod replayer;
mod report;
mod requerier;
mod tool_result;
mod what_if;
mod what_if_event;

pub use align::{DecisionShape, FieldDifference, Pairing, align, field_differences};
pub use difference::{Attribution, Difference};
pub use tool_result::BlobSource;

pub use fork::{Fork, ForkFault, ForkPoint};
pub use pointer::first_difference;
pub use pointer::{ABSENT, differences};
pub use replayer::Replayer;
pub use report::{
    LiveReport, OtherDecision, RecordingMismatch, ReplayReport, TermsDifference, Unfinished,
    WhatIfReport,
};
pub use requerier::{LiveScope, Reissue, Requerier};
pub use what_if::WhatIf;
