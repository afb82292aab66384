//! The command line: arguments in, text and an exit code out. The only module that prints.
//!
//! Knows the commands (one file each), what is written to which stream, how faults are shown and which exit code they
//! have (semantics §3), and where runs are kept by default. It decides nothing about a run: it hands a request to the
//! driver and shows what the machine did. Text that comes from models, tools and files is escaped before it reaches a
//! terminal.
//!
//! ```text
//! argv ─▶ args ─▶ commands::* ─▶ driver │ replay │ store │ transcript
//!                     ├─▶ stdout: the answer, or one JSON document
//!                     ├─▶ stderr: one line per transition where it is a terminal; errors; diagnostics if asked for
//!                     └─▶ exit: code
//! ```

mod app;
mod args;
mod caught;
mod clock;
mod commands;
mod contract_file;
mod error;
mod escape;
mod exit;
mod found;
mod home;
mod html;
mod interrupts;
mod known;
mod live;
mod log;
mod narration;
mod not_begun;
mod numbers;
mod progress;
mod recorded;
mod screen;
mod standing;
mod streamed;
mod version;
mod when;

pub use app::main;
