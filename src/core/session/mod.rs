//! A whole run without I/O: response bytes, faults, tool results, timers and controls in; entries, requests, calls and timers out.
//!
//! Knows how a request is written, how a response's bytes become an event (decoding, tags, usage, redaction, the token gate), how entries
//! are chained, and what a resumed run has lost. It is the only place where bytes become events. It deliberately does not know a
//! clock, a socket, a file, a key, a store: its host has those. A host that performs a session's outputs runs an agent
//! exactly as monolith does.
//!
//! ```text
//!          Input, at_ms                                                 Output
//! host ─▶ handle ─▶ Requests (in flight) ─▶ Judge ─▶ Event ─▶ kernel::Run ─▶ effects ─▶ poll ─▶ host
//!                                                               entries ─▶ Chain ─┘
//! ```

mod base64;
mod deltas;
mod early;
mod effects;
mod error;
mod input;
mod output;
mod pieces;
mod redaction;
mod requests;
mod response;
mod responses;
mod scrub;
mod whole_run;

pub use error::SessionError;
pub use input::{Control, Input};
pub use output::{Append, Call, Delegation, Output, Request};
pub use redaction::RedactionKey;
pub use redaction::{
    KnownSecrets, KnownValues, Redactor, SCHEMES, can_be_matched, credentials_in, is_marked,
    is_scrubbed_form, is_scrubbed_json, key_texts,
};
pub use response::{DecodedEvent, ReceivedResponse};
pub(crate) use response::{Issued, PartialResponse};
pub use scrub::Scrub;
pub use whole_run::Session;

#[cfg(test)]
mod tests;
