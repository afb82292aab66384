//! The module from the outside: servers are brought up and called as the driver does it.

mod builtins;
#[cfg(unix)]
mod changes;
mod file_tools;
mod fixture;
mod http;
mod mcp;
mod mcp_protocol;
mod openapi;
#[cfg(target_os = "linux")]
mod pool;
mod remotes;
mod restarts;
mod web;

use fixture::{Fixture, texts};
