//! The pure core of monolith. It decides everything about a run and performs nothing.
//!
//! Knows the machine, contracts, wire formats, transcripts and replay. It has no async code, no I/O, no clock, no randomness and no
//! environment: a host brings those (docs/architecture.md).

#![warn(unreachable_pub)]

#[cfg(test)]
extern crate self as monolith_core;

pub mod adapter;
pub mod agent;
#[cfg(test)]
mod allocated;
pub mod contract;
pub mod kernel;
pub mod message;
pub mod replay;
pub mod session;
pub mod transcript;
pub mod view;
pub mod work;
