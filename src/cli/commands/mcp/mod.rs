//! `monolith mcp`: logins at tool servers.

mod args;
mod login;
mod run;

pub(in crate::cli) use self::args::McpCommand;
pub(in crate::cli) use self::run::mcp;
