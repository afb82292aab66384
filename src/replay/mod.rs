//! Replay: a fresh machine is given the recorded events, and must decide what was recorded, byte for byte.
//!
//! Knows how to fold a transcript through [`kernel::Run`](crate::kernel::Run), how to encode each request and decode each raw
//! response again, and how to name the first difference and what it comes from (semantics §10). It asks no model and no tool,
//! aligns two runs by their decisions, and it does not know where a transcript is kept: entries are handed in, blobs come through [`BlobSource`].
//!
//! ```text
//! stored entry ─▶ hash chain ─▶ event ─▶ encode / decode again ─▶ Run::step ─▶ entry ─┐
//!      └──────────────────────────────────────── equal, byte for byte? ◀──────────────┘
//! ```

mod align;
mod blob_source;
mod boundary;
mod difference;
mod pointer;
mod replayer;
mod report;
mod unfinished;

pub use align::{DecisionShape, FieldDifference, Pairing, align, field_differences};
pub use blob_source::BlobSource;
pub use difference::{Attribution, Difference};
pub use pointer::first_difference;
pub use replayer::Replayer;
pub use report::ReplayReport;
pub use unfinished::Unfinished;
