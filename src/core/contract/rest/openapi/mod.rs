//! OpenAPI 3.0 and 3.1: from a description of a service to tools, and from a call's arguments to a request as the description has it.
//!
//! Pure and tolerant: what a description leaves open or gets wrong costs the operation that it is about, never the others. Nothing outside the
//! document is ever read, so a reference to another file or host is a fault of its operation.

mod arguments;
mod body;
mod budget;
mod document;
mod fault;
mod import;
mod parameter;
mod plan;
mod schema;
#[cfg(test)]
mod tests;

pub(super) use body::is_json;
pub use fault::OpenapiFault;
pub use import::{ImportTerms, Imported, imported};
pub use plan::HttpOperation;
