//! Finds secrets in texts and puts commitments in their place (semantics §9).
//!
//! Knows the forms in which a text may hold a value, the headers and shapes that give a secret away, and the marker that
//! replaces them. It does no I/O: values, key and run id are handed in. It does not know where values come from, nor what is
//! recorded.
//!
//! ```text
//! values of a host ───────┐
//! key + run id ─▶ Salt ───┼─▶ Redactor: text ─▶ text with [REDACTED:<commitment>]
//! contract's `redact` ────┘
//! ```

mod redactor;
mod scrubbed_form;
mod settled;
mod shapes;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_parts;
mod values;
mod view;

pub use redactor::{KnownSecrets, RedactionKey, Redactor};
pub use scrubbed_form::{is_scrubbed_form, is_scrubbed_json};
pub use shapes::{SCHEMES, credentials_in};
pub use values::{KnownValues, can_be_matched, is_marked, key_texts};
