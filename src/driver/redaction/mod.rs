//! Taking secrets out of what is about to be recorded, before there is an event (semantics §9).
//!
//! Knows which values of a request are secret, the forms in which a text may hold them, the headers and shapes that give a
//! secret away, and the marker that stands in their place. It does no I/O: values, key and run id are handed in. It does
//! not know what an event is made from; `recorded` only knows where in a result there is text.
//!
//! ```text
//! request + environment ─▶ Secrets ─┐
//! redaction.key + run id ─▶ Salt ───┼─▶ Redactor: text ─▶ text with [REDACTED:<commitment>]
//! contract's `redact` ──────────────┘
//! ```

mod forms;
mod pieces;
mod recorded;
mod redactor;
mod salt;
mod secrets;
mod shapes;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use redactor::Redactor;
pub use salt::RedactionKey;
pub(crate) use salt::Salt;
pub(crate) use secrets::{Secrets, Unmatched};
