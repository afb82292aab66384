//! Whole runs: `monolith run`, from its start to its end, beside the bare loop against the same server.

use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::process::{Cost, run, this_program};
use crate::ratio::{Limit, Row, time};
use crate::server::{FILE, Server};
use crate::wal::{Written, written};

/// The store of a run, in its folder.
pub const RUNS: &str = "runs.db";

/// Who runs, and what it is compared with.
struct Pair {
    ours: Ours,
    floor: &'static str,
    /// The role of this program that plays the floor.
    role: &'static str,
    limit: f64,
}

/// The form of monolith that runs.
#[derive(Clone, Copy)]
enum Ours {
    /// A host on `Session`, whose store is its memory.
    Memory,
    /// The program, under that durability.
    Program(&'static str),
}

const PAIRS: [Pair; 4] = [
    Pair {
        ours: Ours::Memory,
        floor: "the bare loop, no store on either side",
        role: "bare",
        limit: 3.0,
    },
    Pair {
        ours: Ours::Program("normal"),
        floor: "the bare loop, which stores nothing",
        role: "bare",
        limit: 5.0,
    },
    Pair {
        ours: Ours::Program("normal"),
        floor: "the loop with rows, NORMAL",
        role: "bare-normal",
        limit: 2.5,
    },
    Pair {
        ours: Ours::Program("full"),
        floor: "the loop with rows, FULL",
        role: "bare-full",
        limit: 1.5,
    },
];

/// The rows of runs with so many turns each.
pub fn rows(lengths: &[u64]) -> Vec<Row> {
    let server = Server::start();
    let mut rows = Vec::new();
    for &turns in lengths {
        let per_turn = |cost: Cost| cost.cpu.as_secs_f64() / turns as f64;
        for pair in &PAIRS {
            let ours = || match pair.ours {
                Ours::Memory => bare(&server, turns, "memory").0,
                Ours::Program(durability) => ours(&server, turns, durability).0,
            };
            let name = match pair.ours {
                Ours::Memory => "in memory",
                Ours::Program(durability) => durability,
            };
            let name = format!("processor time of a turn, run of {turns}, {name}");
            let limit = (pair.ours.has_limit(pair.role)).then_some(Limit::AtMost(pair.limit));
            let both = || {
                let floor = bare(&server, turns, pair.role).0;
                (per_turn(ours()), per_turn(floor))
            };
            rows.push(Row::of((&name, pair.floor), limit, both, time));
        }
    }
    rows
}

impl Ours {
    /// True if the comparison with that role has a limit. A run with a store is only shown next to a loop without one.
    fn has_limit(self, role: &str) -> bool {
        matches!(self, Self::Memory) || role != "bare"
    }
}

/// Measures a turn of ours and of the loop with rows beyond its time, as rows of a Markdown table.
pub fn counts(lengths: &[u64]) -> Vec<String> {
    let server = Server::start();
    let line = |turns: u64, name: &str, (cost, size): (Cost, u64)| {
        let each = |all: u64| all as f64 / turns as f64;
        format!(
            "| {name}, run of {turns} | {:.2} ms | {:.1} | {:.1} | {:.1} kB | {:.2} kB | {:.1} MB |",
            cost.wall.as_secs_f64() * 1e3 / turns as f64,
            each(cost.woken),
            each(cost.transfers),
            each(cost.written) / 1e3,
            each(size) / 1e3,
            cost.peak as f64 / 1e6,
        )
    };
    let pairs = lengths.iter().flat_map(|&turns| {
        [
            line(turns, "monolith, FULL", ours(&server, turns, "full")),
            line(turns, "monolith, NORMAL", ours(&server, turns, "normal")),
            line(turns, "in memory", bare(&server, turns, "memory")),
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
            line(turns, "the bare loop", bare(&server, turns, "bare")),
        ]
    });
    pairs.collect()
}

/// Commits and pages of one turn: the difference of a longer and a shorter run, both in a store that was there before.
pub fn commits_and_pages() -> [f64; 2] {
    const TURNS: [u64; 2] = [4, 20];
    let server = Server::start();
    let [short, long] = TURNS.map(|turns| {
        let folder = recorded(&server, 1);
        let store = folder.path().join(RUNS);
        // While this connection reads, SQLite neither restarts nor removes the log.
        let reader = Connection::open(&store).expect("a database");
        reader.execute_batch("BEGIN").expect("a transaction");
        let tables = reader.query_row("SELECT count(*) FROM entries", [], |row| row.get(0));
        let _: i64 = tables.expect("its entries");
        let before = written(&store);
        run(&mut program(&server, folder.path(), turns, "normal"));
        let after = written(&store);
        Written {
            commits: after.commits - before.commits,
            pages: after.pages - before.pages,
        }
    });
    let turns = (TURNS[1] - TURNS[0]) as f64;
    let each = |short: u64, long: u64| (long - short) as f64 / turns;
    [
        each(short.commits, long.commits),
        each(short.pages, long.pages),
    ]
}

/// The folder of one run of so many turns.
pub fn recorded(server: &Server, turns: u64) -> tempfile::TempDir {
    let folder = folder();
    run(&mut program(server, folder.path(), turns, "normal"));
    folder
}

/// System calls of one turn, by name, as strace counts them; `None` if it is not installed.
pub fn system_calls(turns: u64) -> Option<Vec<(String, f64)>> {
    let there = Command::new("strace").arg("--version").output();
    there.ok().filter(|output| output.status.success())?;
    let (server, folder) = (Server::start(), folder());
    let counts = folder.path().join("counts");
    let command = program(&server, folder.path(), turns, "full");
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-c", "-o"])
        .arg(&counts)
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(folder.path())
        .env("MONOLITH_HOME", folder.path().join("home"));
    run(&mut traced);
    let text = fs::read_to_string(counts).expect("what strace counted");
    // % time, seconds, usecs/call, calls, errors where there are some, name.
    let each = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let calls: u64 = words.get(3)?.parse().ok()?;
        Some(((*words.last()?).to_owned(), calls as f64 / turns as f64))
    });
    Some(each.collect())
}

/// One run of ours, and the size of its store.
fn ours(server: &Server, turns: u64, durability: &str) -> (Cost, u64) {
    let folder = folder();
    let cost = run(&mut program(server, folder.path(), turns, durability));
    (cost, size(&folder.path().join(RUNS)))
}

/// The program, ready to run in that folder.
fn program(server: &Server, folder: &Path, turns: u64, durability: &str) -> Command {
    let name = format!("{}-{turns}", name(folder));
    let contract = contract(&server.base_url(turns, &name));
    fs::write(folder.join("agent.yaml"), contract).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_monolith"));
    command
        .current_dir(folder)
        .env("MONOLITH_HOME", folder.join("home"))
        .args(["run", "--contract", "agent.yaml", "--store", RUNS])
        .args(["--quiet", "--durability", durability]);
    command
}

/// Runs one loop in a separate process. Returns its cost and database size.
fn bare(server: &Server, turns: u64, role: &str) -> (Cost, u64) {
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

/// Returns a unique name for each run.
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

/// The contract of a run that asks the server at `base_url`.
pub fn contract(base_url: &str) -> String {
    format!(
        "task: Read the file again and again.\n\
         targets: [{{provider: own, model: m, context_window: 9000000}}]\n\
         providers: {{own: {{type: openai, base_url: '{base_url}'}}}}\n\
         tools: {{builtin: [read_file], workspace: .}}\n\
         tool_policy: optional\n\
         max_turns: 100000\nmax_calls: 100000\nmax_tokens_consumed: 900000000\n"
    )
}
