//! `monolith mcp`: logins at tool servers.

mod args;
mod login;
mod run;

pub(crate) use self::args::McpCommand;
pub(crate) use self::run::mcp;
