//! The module from the outside: servers are brought up and called as the driver does it.

mod builtins;
mod fixture;
mod http;
mod mcp;
#[cfg(target_os = "linux")]
mod pool;
mod remotes;

use fixture::{Fixture, texts};
