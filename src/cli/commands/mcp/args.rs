//! The arguments of `monolith mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
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
pub(crate) struct ServerArgs {
    /// The server's name in the contract
    ///
    /// It may be left out where the contract has one server with an address.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The contract file (else agent.yaml)
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// The server's address, without a contract
    #[arg(long, value_name = "URL", conflicts_with_all = ["name", "contract"])]
    pub(crate) url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Ask for these scopes, too
    ///
    /// Scopes beside those that the server wants, with spaces between them; may be repeated.
    #[arg(long = "scope", value_name = "SCOPES")]
    pub(crate) scopes: Vec<String>,
    /// What monolith is called at the authorization server
    ///
    /// Where it takes no registrations. A client that was registered for one address needs --port, too.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The port of 127.0.0.1 that the browser comes back to
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Open the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Wait at most so long
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LoginsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
