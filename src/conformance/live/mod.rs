//! The six cases of 002 §9 against a real endpoint: a user's own server and model, real tools, real transcripts.
//!
//! Knows which contracts and prompts make a model act, what each run may come to, and what a server's answers show of the
//! server. It deliberately does not expect a model to do well: an end that the contract allows is no fault of the server's,
//! and every run must be proven, whatever it came to. Runs are kept in the store like any other.
//!
//! ```text
//! cases.yaml ─▶ contract ─▶ driver ─▶ endpoint      ┌─▶ LiveRow per case
//!                             └─▶ entries ─▶ Watcher ┴─▶ ServerTraits
//!                             └─▶ store ─▶ verify, replay: proven
//! ```

mod live_case;
mod live_report;
mod run_live;
mod server_traits;
mod watcher;

pub use live_case::LiveTarget;
pub use live_report::{LiveRecord, LiveReport, LiveRow};
pub use run_live::{LiveError, run_live};
pub use server_traits::{Agreement, ServerTraits, Share};
