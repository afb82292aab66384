//! The command line: arguments in, text and an exit code out. The only module that prints.
//!
//! Knows the commands, what is written to which stream, how faults are shown and which exit code they have (semantics §3), and
//! where runs are kept by default. It decides nothing about a run: it hands a request to the driver and shows what the machine
//! did. Text that comes from models, tools and files is escaped before it reaches a terminal.
//!
//! ```text
//! argv ─▶ args ─▶ program ─▶ commands::<verb>::run ─▶ driver │ replay │ store │ transcript
//!                              │        └─▶ render ─▶ ui      a RunView, or a report, as text
//!                              └─▶ context                    where things are: store, keys, configuration, faults
//!
//!  stdout: the answer, or one JSON document
//!  stderr: one line per transition where it is a terminal; errors; diagnostics if asked for
//! ```
//!
//! A layer names only lower ones: `ui`, then `context`, then `commands`, then the program.

#![warn(unreachable_pub)]
// The compiler proves that a future is `Send` through all that it awaits, down to the driver of the runtime.
#![recursion_limit = "256"]

mod ai_agent;
mod args;
mod commands;
mod context;
mod log;
mod program;
mod tips;
mod ui;
mod version;

pub use program::main;
