//! The arguments of `monolith machine`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// Output format: mermaid, dot or json
    ///
    /// mermaid: a Mermaid state diagram. dot: a Graphviz digraph. json: one JSON document.
    #[arg(long, hide_possible_values = true, value_enum, default_value_t)]
    pub(crate) format: MachineFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum MachineFormat {
    /// A Mermaid state diagram
    #[default]
    Mermaid,
    /// A Graphviz digraph
    Dot,
    /// One JSON document
    Json,
}
