//! The tags of the XML tool transport (000 §11): `<ai-agent-NONCE-0001 tool="…">payload</ai-agent-NONCE-0001>`.
//!
//! Knows the nonce and the slots of a session, and finds tags in a model's text as it arrives. Renders the terms of a turn
//! (XML-NEXT) and the results of earlier calls (XML-PAST). Tags are found as substrings; nothing here is an XML
//! parser. It does not know turns, retries or budgets, whether a tool exists, or what a final report must look like.
//!
//! Text without this session's nonce stays text. A tag with it is never text: it is a call, a report, or ignored with a
//! reason, and no fragment of it leaves the filter, wherever the text was cut.

mod prompt;
mod reading;
mod scanner;
mod slot;
mod transport;

pub(crate) use prompt::XmlNext;
pub use slot::Nonce;
pub use transport::offered_tags;
pub(crate) use transport::{XmlTransport, transported};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod transport_tests;
