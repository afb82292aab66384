//! The host of monolith: performs the effects that the core decides.
//!
//! Knows the store, backends of models, tools, the driver's loop, layered configuration and the documents made of a run. It decides
//! nothing about a run, and it prints nothing.

#![warn(unreachable_pub)]
// The compiler proves that a future is `Send` through all that it awaits, down to the driver of the runtime.
#![recursion_limit = "256"]

pub mod config;
pub mod driver;
pub mod inference;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod work_tree;
