//! The module from the outside: servers are brought up and called as the driver does it.

mod bench;
mod builtins;
mod http;
mod mcp;

use bench::{Bench, texts};
