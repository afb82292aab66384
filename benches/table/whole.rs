//! Whole runs: `monolith run`, from its start to its end, beside the bare loop against the same server.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{Cost, run, this_program};
use crate::ratio::{Limit, Row, time};
use crate::server::{FILE, Server};

/// What a run is compared with.
struct Floor {
    name: &'static str,
    /// The role of this program that plays it.
    role: &'static str,
    durability: &'static str,
    limit: f64,
}

const FLOORS: [Floor; 3] = [
    Floor {
        name: "the bare loop",
        role: "bare",
        durability: "normal",
        limit: 3.0,
    },
    Floor {
        name: "the loop with rows, NORMAL",
        role: "bare-normal",
        durability: "normal",
        limit: 2.5,
    },
    Floor {
        name: "the loop with rows, FULL",
        role: "bare-full",
        durability: "full",
        limit: 1.5,
    },
];

/// The rows of runs with so many turns each.
pub fn rows(lengths: &[u64]) -> Vec<Row> {
    let server = Server::start();
    let mut rows = Vec::new();
    for &turns in lengths {
        let per_turn = |cost: Cost| cost.cpu.as_secs_f64() / turns as f64;
        for floor in &FLOORS {
            let ours = || ours(&server, turns, floor.durability);
            let (name, limit) = (
                format!("processor time of a turn, run of {turns}"),
                Limit::AtMost(floor.limit),
            );
            let pair = || {
                (
                    per_turn(ours().0),
                    per_turn(bare(&server, turns, floor.role).0),
                )
            };
            rows.push(Row::of((&name, floor.name), Some(limit), pair, time));
        }
    }
    rows
}

/// What a turn takes beside its time, of ours and of the loop with rows, as rows of a Markdown table.
pub fn counts(lengths: &[u64]) -> Vec<String> {
    let server = Server::start();
    let line = |turns: u64, name: &str, (cost, size): (Cost, u64)| {
        let each = |all: u64| all as f64 / turns as f64;
        format!(
            "| {name}, run of {turns} | {:.2} ms | {:.1} | {:.1} kB | {:.2} kB | {:.1} MB |",
            cost.wall.as_secs_f64() * 1e3 / turns as f64,
            each(cost.woken),
            each(cost.written) / 1e3,
            each(size) / 1e3,
            cost.peak as f64 / 1e6,
        )
    };
    let pairs = lengths.iter().flat_map(|&turns| {
        [
            line(turns, "monolith, FULL", ours(&server, turns, "full")),
            line(turns, "monolith, NORMAL", ours(&server, turns, "normal")),
            line(
                turns,
                "the loop with rows, FULL",
                bare(&server, turns, "bare-full"),
            ),
            line(
                turns,
                "the loop with rows, NORMAL",
                bare(&server, turns, "bare-normal"),
            ),
        ]
    });
    pairs.collect()
}

/// One run of ours, and the size of its store.
pub fn ours(server: &Server, turns: u64, durability: &str) -> (Cost, u64) {
    let folder = folder();
    let contract = contract(&server.base_url(turns, &name(folder.path())));
    fs::write(folder.path().join("agent.yaml"), contract).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_monolith"));
    command
        .current_dir(folder.path())
        .env("MONOLITH_HOME", folder.path().join("home"));
    command.args([
        "run",
        "--contract",
        "agent.yaml",
        "--store",
        "runs.db",
        "--quiet",
        "--durability",
        durability,
    ]);
    let cost = run(&mut command);
    (cost, size(&folder.path().join("runs.db")))
}

/// One bare loop, and the size of its database.
pub fn bare(server: &Server, turns: u64, role: &str) -> (Cost, u64) {
    let folder = folder();
    let url = server.base_url(turns, &name(folder.path()));
    let mut command = Command::new(this_program());
    command.args(["role", role, &url]).arg(folder.path());
    let cost = run(&mut command);
    (cost, size(&folder.path().join("bare.db")))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(FILE), "a line of text\n".repeat(20)).expect("a file");
    folder
}

/// A name of its own for each run.
fn name(folder: &Path) -> String {
    folder
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .trim_start_matches('.')
        .to_owned()
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

pub fn contract(base_url: &str) -> String {
    format!(
        "task: Read the file again and again.\n\
         targets: [{{provider: own, model: m, context_window: 9000000}}]\n\
         providers: {{own: {{type: openai, base_url: '{base_url}'}}}}\n\
         tools: {{builtin: [read_file], workspace: .}}\n\
         tool_policy: required\ntool_proof: succeeded\n\
         max_turns: 100000\nmax_calls: 100000\nmax_tokens_consumed: 900000000\n"
    )
}
