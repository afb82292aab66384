//! The arguments of `monolith contract` and of the commands that read a contract as it does.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ContractCommand {
    /// Find what is wrong with a contract file
    Check(ContractCheckArgs),
    /// Print the contract that the file gives, with every default filled in: as JSON, on a terminal as YAML
    Show(ContractShowArgs),
    /// Print the hash of that contract
    Hash(ContractArgs),
    /// Print the JSON Schema of contract files, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ContractArgs {
    /// The contract file (YAML or JSON); agent.yaml or agent.yml of this folder by default
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Change a value of the file, such as max_turns=3; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(in crate::cli) sets: Vec<String>,
    /// Start the file's tool servers to pin what they offer
    #[arg(long)]
    pub(in crate::cli) start_servers: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ContractShowArgs {
    #[command(flatten)]
    pub(in crate::cli) contract: ContractArgs,
    /// Print the JSON document of which the hash is made, on a terminal too
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ContractCheckArgs {
    #[command(flatten)]
    pub(in crate::cli) contract: ContractArgs,
    /// Print one JSON document, also where the file is faulty
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
