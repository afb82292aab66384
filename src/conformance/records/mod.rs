//! Recorded responses of providers, one JSON record per line, each judged by the adapter of its protocol.
//!
//! Knows the recorded format: `id`, `proto`, `status`, `headers`, `response`; what else stands in a record says where it comes
//! from and is read over. It deliberately knows no protocol: a record names one, and an adapter of that name judges it.
//!
//! ```text
//! bytes ─▶ plain text ─▶ lines, each within a bound ─▶ RecordedResponse ─▶ adapter ─▶ JudgedRecord
//!          (gzip is opened)                                  └─▶ RecordFault, and on with the next line
//! ```

mod judge;
mod lines;
mod recorded_response;

pub(crate) use judge::{JudgedCall, JudgedRecord};
pub use judge::{VerdictRow, VerdictTable};
pub use lines::RecordLines;
pub use lines::RecordsReadError;
pub use recorded_response::RecordFault;
pub(crate) use recorded_response::RecordRule;
pub use recorded_response::RecordedResponse;
