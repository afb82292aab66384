//! The arguments of `monolith contract` and of the commands that read a contract as it does.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// Find what is wrong with a contract file
    Check(ContractCheckArgs),
    /// Print the contract with every default filled in
    ///
    /// As JSON; on a terminal, and with --yaml, as YAML.
    Show(ContractShowArgs),
    /// Print the hash of that contract
    Hash(ContractArgs),
    /// Hold the contract's tool servers to the tools that they offer now
    ///
    /// Starts the servers and writes the pin of each into the file, which stays as its author wrote it otherwise. What they offer
    /// is written to NAME.pins.json beside it: with that a later change can be shown.
    Pin(ContractPinArgs),
    /// Print the JSON Schema of contract files, for editors
    Schema(ContractSchemaArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ContractSchemaArgs {
    /// Print that of NAME.pins.json instead
    ///
    /// Print the JSON Schema of the file that `contract pin` writes beside a contract file.
    #[arg(long)]
    pub(crate) pins: bool,
    /// Print that of a workflow's file instead
    #[arg(long, conflicts_with = "pins")]
    pub(crate) workflow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContractArgs {
    /// The contract file (else agent.yaml)
    ///
    /// YAML or JSON; by default agent.yaml or agent.yml of this folder.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// Change a value of the file by its dotted key; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Start the tool servers, to see what they offer
    ///
    /// What they offer is pinned in the contract, so the hash is then that of a run.
    #[arg(long)]
    pub(crate) start_servers: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContractShowArgs {
    #[command(flatten)]
    pub(crate) contract: ContractArgs,
    /// Print the JSON document
    ///
    /// It is the one of which the hash is made. In a pipe it is printed without this option, too.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print it as YAML, for people
    ///
    /// As on a terminal, also in a pipe: monolith contract show FILE --yaml | less
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
    /// The contract file (else agent.yaml)
    ///
    /// YAML or JSON; by default agent.yaml or agent.yml of this folder. Its tool servers are started.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
