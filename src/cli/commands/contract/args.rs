//! The arguments of `monolith contract` and of the commands that read a contract as it does.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// Check a contract file for errors
    Check(ContractCheckArgs),
    /// Print the contract with all defaults filled in
    ///
    /// Prints JSON in a pipe, and YAML on a terminal or with --yaml.
    Show(ContractShowArgs),
    /// Print the hash of the contract
    Hash(ContractArgs),
    /// Pin the tools that a contract's servers offer now
    ///
    /// Starts the servers and writes the pin of each into the contract file, which otherwise stays unchanged. Writes their
    /// tools to NAME.pins.json in the same folder, so that monolith can show later changes.
    Pin(ContractPinArgs),
    /// Print the JSON Schema of contract files, for editors
    Schema(ContractSchemaArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ContractSchemaArgs {
    /// Print the schema of NAME.pins.json instead
    ///
    /// `contract pin` writes this file next to a contract file.
    #[arg(long)]
    pub(crate) pins: bool,
    /// Print the schema of workflow files instead
    #[arg(long, conflicts_with = "pins")]
    pub(crate) workflow: bool,
    /// Print the schema of files of work items instead
    #[arg(long, conflicts_with_all = ["pins", "workflow"])]
    pub(crate) work: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContractArgs {
    /// The contract file (default: agent.yaml)
    ///
    /// YAML or JSON. Default: agent.yaml, else agent.yml, in the current folder.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// KEY is the dotted key of a value in the file. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Start the tool servers and read their tools
    ///
    /// The contract then pins these tools, so its hash is that of a run.
    #[arg(long)]
    pub(crate) start_servers: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContractShowArgs {
    #[command(flatten)]
    pub(crate) contract: ContractArgs,
    /// Print the JSON document
    ///
    /// This is the document that the contract hash covers. In a pipe it is the default.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print YAML, even in a pipe
    ///
    /// For example: monolith contract show FILE --yaml | less
    #[arg(long, conflicts_with = "json")]
    pub(crate) yaml: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContractCheckArgs {
    #[command(flatten)]
    pub(crate) contract: ContractArgs,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContractPinArgs {
    /// The contract file (default: agent.yaml)
    ///
    /// YAML or JSON. Default: agent.yaml, else agent.yml, in the current folder. monolith starts its tool servers.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
