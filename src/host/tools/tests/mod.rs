//! The module from the outside: servers are brought up and called as the driver does it.

mod builtins;
#[cfg(unix)]
mod changes;
#[cfg(unix)]
mod file_forms;
mod file_tools;
mod fixture;
mod http;
mod http_sessions;
mod mcp;
mod mcp_blocks;
mod mcp_protocol;
mod openapi;
#[cfg(target_os = "linux")]
mod pool;
mod remotes;
mod restarts;
mod searches;
mod web;

use fixture::{Fixture, texts};
