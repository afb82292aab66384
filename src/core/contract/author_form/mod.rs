//! The inverse of the factory: from a recorded contract to a file that gives it again, on which `--set` is applied.
//!
//! Knows which keys a file needs so that the factory makes the recorded terms: it has the factory make them, and states a key only
//! where the result differs. What follows from other keys is therefore left out, and follows a change of those. What no contract
//! holds (values of headers and of variables, the workspace) is not in the file either.
//!
//! ```text
//! recorded terms ─▶ what has no default ─▶ ContractFactory ─▶ what differs is stated ─┐
//!                                                ▲                                    │
//!                                                └────────────────────────────────────┘
//! ```

mod document;
mod form;
mod sampling;
mod settle;
mod stated;

pub use form::AuthorForm;
pub use settle::ChangedError;
