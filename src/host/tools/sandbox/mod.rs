//! The sandbox of commands and tool servers: `monolith __sandbox PROFILE PROGRAM ARGS…`.
//!
//! What confines a process cannot be set up between fork and exec of a program with threads: there hardly anything may be called.
//! So this program starts itself again, and that process sets everything up with ordinary code, one thread and no runtime:
//!
//! ```text
//! monolith ─▶ __supervise ─▶ __sandbox (outer)                 ─▶ __sandbox (inner)                  ─▶ the program
//!                            user, mount, pid, net namespaces     pid 1 of the namespace: new root,
//!                            the pids and memory group            landlock, seccomp, limits
//! ```
//!
//! The outer process waits for the inner one, which dies with it; with the inner one the kernel ends every process of its namespace.
//! Knows the parts, and which of them the kernel lacks. It does not know contracts, nor what is run. Linux only.

mod command;
#[cfg(target_os = "linux")]
mod conceal;
#[cfg(target_os = "linux")]
mod contents;
#[cfg(target_os = "linux")]
mod discarded;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod group;
#[cfg(target_os = "linux")]
mod identity;
#[cfg(target_os = "linux")]
mod inner;
mod installs;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod layout_tests;
#[cfg(target_os = "linux")]
mod outer;
mod part;
mod places;
#[cfg(target_os = "linux")]
mod prefix;
mod probe;
mod profile;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod remedy;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod settings;
mod way;

pub use command::confine;
pub(crate) use installs::Installs;
pub(crate) use part::{CANNOT_SET_UP, DISCARDED_WRITES, NOT_STARTED};
pub use part::{PartStatus, SANDBOX_COMMAND};
pub(crate) use places::{CHECKED, CREDENTIALS, SETTINGS, SYSTEM_CREDENTIALS, SYSTEM_SETTINGS};
pub(crate) use probe::SandboxProbe;
pub use probe::{ProbeFault, ProbeReport, SandboxKind};
pub(crate) use profile::{Confined, HeldFolder, Limits, SandboxProfile, SearchFolder};
#[cfg(target_os = "linux")]
pub(crate) use remedy::missing_grants;
pub(crate) use way::{FolderId, GrantedFolders, Way, is_in};
