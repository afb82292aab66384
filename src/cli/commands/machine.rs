//! `monolith machine`: the table of edges that the kernel's own enums give, as a diagram or a document.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::context::app::App;
use monolith_core::kernel::{EDGES, State};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

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

#[derive(Serialize)]
struct Machine {
    states: Vec<MachineState>,
    edges: Vec<MachineEdge>,
}

#[derive(Serialize)]
struct MachineState {
    name: State,
    /// True if the machine waits for an event in this state.
    resting: bool,
}

#[derive(Serialize)]
struct MachineEdge {
    from: State,
    to: State,
    when: &'static str,
}

/// `monolith machine`.
pub(crate) fn machine(app: &App, args: &MachineArgs) -> Result<Exit, ServiceError> {
    match args.format {
        MachineFormat::Mermaid => app.screen.out_whole(&mermaid())?,
        MachineFormat::Dot => app.screen.out_whole(&dot())?,
        MachineFormat::Json => app.screen.out_json(&json())?,
    }
    Ok(Exit::OK)
}

fn mermaid() -> String {
    let mut out = String::from("stateDiagram-v2\n    [*] --> PRECHECK\n");
    for edge in EDGES {
        let _ = writeln!(out, "    {} --> {}: {}", edge.from, edge.to, edge.when);
    }
    out.push_str("    TERMINATE --> [*]\n");
    out
}

fn dot() -> String {
    let mut out = String::from("digraph monolith {\n    rankdir=LR;\n    node [shape=box];\n");
    for state in State::ALL.into_iter().filter(|state| state.is_resting()) {
        let _ = writeln!(out, "    {state} [style=bold];");
    }
    for edge in EDGES {
        let _ = writeln!(
            out,
            "    {} -> {} [label=\"{}\"];",
            edge.from, edge.to, edge.when
        );
    }
    out.push_str("}\n");
    out
}

fn json() -> Machine {
    Machine {
        states: State::ALL
            .into_iter()
            .map(|name| MachineState {
                name,
                resting: name.is_resting(),
            })
            .collect(),
        edges: EDGES
            .iter()
            .map(|edge| MachineEdge {
                from: edge.from,
                to: edge.to,
                when: edge.when,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_stands_in_every_picture() {
        let (mermaid, dot, json) = (mermaid(), dot(), json());
        assert_eq!(json.edges.len(), EDGES.len());
        for edge in EDGES {
            let (from, to) = (edge.from, edge.to);
            assert!(
                mermaid.contains(&format!("{from} --> {to}: ")),
                "{from} {to}"
            );
            assert!(dot.contains(&format!("{from} -> {to} [")), "{from} {to}");
        }
    }

    #[test]
    fn what_stands_in_a_dot_label_needs_no_escape() {
        let plain = |when: &str| !when.contains(['"', '\\', '\n']);
        assert!(EDGES.iter().all(|edge| plain(edge.when)));
    }
}
