//! The arguments of `monolith mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Log in to a tool server in a browser
    ///
    /// Prints the address to open and stores the tokens in the key folder. Runs use and refresh them.
    Login(LoginArgs),
    /// Remove the login for a tool server
    Logout(ServerArgs),
    /// List the logins to tool servers
    List(LoginsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The server's name in the contract
    ///
    /// Optional if only one server of the contract has an address.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The contract file (default: agent.yaml)
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// The server's address, instead of a contract
    #[arg(long, value_name = "URL", conflicts_with_all = ["name", "contract"])]
    pub(crate) url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Request additional scopes
    ///
    /// Adds to the scopes that the server asks for. Separate them with spaces; may be repeated.
    #[arg(long = "scope", value_name = "SCOPES")]
    pub(crate) scopes: Vec<String>,
    /// monolith's client id at the authorization server
    ///
    /// Needed if that server accepts no registrations. A client that is registered for one redirect address also needs
    /// --port.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The port on 127.0.0.1 for the redirect of the browser
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Open the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Maximum time to wait
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LoginsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
