//! The arguments of `monolith mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum McpCommand {
    /// Log in at a tool server, in a browser
    ///
    /// It prints the address to open, and keeps the tokens in the key folder. Runs use and refresh them.
    Login(LoginArgs),
    /// Forget the login at a tool server
    Logout(ServerArgs),
    /// List the logins at tool servers
    List(LoginsArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ServerArgs {
    /// The server's name in the contract
    ///
    /// It may be left out where the contract has one server with an address.
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: Option<String>,
    /// The contract file (else agent.yaml)
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) contract: Option<PathBuf>,
    /// The server's address, without a contract
    #[arg(long, value_name = "URL", conflicts_with_all = ["name", "contract"])]
    pub(in crate::cli) url: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LoginArgs {
    #[command(flatten)]
    pub(in crate::cli) server: ServerArgs,
    /// Ask for these scopes, too
    ///
    /// Scopes beside those that the server wants, with spaces between them; may be repeated.
    #[arg(long = "scope", value_name = "SCOPES")]
    pub(in crate::cli) scopes: Vec<String>,
    /// What monolith is called at the authorization server
    ///
    /// Where it takes no registrations. A client that was registered for one address needs --port, too.
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) client_id: Option<String>,
    /// The port of 127.0.0.1 that the browser comes back to
    #[arg(long, value_name = "PORT")]
    pub(in crate::cli) port: Option<u16>,
    /// Open the browser
    #[arg(long)]
    pub(in crate::cli) open: bool,
    /// Wait at most so long
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(in crate::cli) timeout: u64,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LoginsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
