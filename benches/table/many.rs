//! Many runs of one process against the loopback server: whether all of them end, what they take together, and how they share it; and how long
//! all of them take to go on after the process was killed.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use monolith_host::store::{RunFilter, StoreReader};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::process::{Cost, run_as_it_is};
use crate::server::{FILE, Server};
use crate::whole::contract;

/// Turns of each run.
const TURNS: u64 = 20;

/// The rows of so many runs at once, of a Markdown table.
pub fn lines(sizes: &[u64]) -> Vec<String> {
    sizes
        .iter()
        .flat_map(|&runs| [whole(runs), killed(runs)])
        .collect()
}

pub const HEAD: &str = "\n| runs at once, 20 turns each | ended | wall | processor time of a turn | slowest by median | peak memory |\n|---|---|---|---|---|---|";

fn whole(runs: u64) -> String {
    let server = Server::start();
    let folder = folder(&server, runs);
    let cost = run_as_it_is(&mut begin(folder.path(), runs));
    line(&format!("{runs}"), folder.path(), runs, cost)
}

/// Kills the process once every run is open, then resumes all of them in another process.
fn killed(runs: u64) -> String {
    let server = Server::start();
    let folder = folder(&server, runs);
    let mut child = begin(folder.path(), runs).spawn().expect("it starts");
    let start = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        assert!(
            child.try_wait().expect("a child").is_none(),
            "it ended before it was killed"
        );
        let [begun, ended] = begun_and_ended(&folder.path().join("runs.db")).unwrap_or_default();
        if u64::try_from(begun).is_ok_and(|begun| begun == runs) {
            println!(
                "killed after {:.1} s: {begun} of {runs} had begun, {ended} had ended",
                start.elapsed().as_secs_f64()
            );
            break;
        }
    }
    child.kill().expect("a child");
    child.wait().expect("a child");
    let mut resume = command(folder.path());
    resume.args(["resume", "--all"]);
    let store = folder.path().join("runs.db");
    let before = heads(&store).expect("a store");
    let done = AtomicBool::new(false);
    let (cost, resumed) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| all_resumed(&store, &before, &done));
        let cost = run_as_it_is(&mut bounded(resume, runs));
        done.store(true, Ordering::Relaxed);
        (cost, watch.join().expect("it looks"))
    });
    match resumed {
        Some(after) => println!("all {runs} went on within {:.1} s", after.as_secs_f64()),
        None => println!("it ended before all {runs} were seen to go on"),
    }
    line(
        &format!("{runs}, after `kill -9`, `resume --all`"),
        folder.path(),
        runs,
        cost,
    )
}

/// The number of the last entry of each run.
fn heads(store: &Path) -> rusqlite::Result<HashMap<String, i64>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(store, flags)?;
    let mut rows = conn.prepare("SELECT run_id, head_seq FROM runs")?;
    let heads = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    heads.collect()
}

/// Returns the time until each run has a further entry, or `None` if the end came before that was seen.
fn all_resumed(store: &Path, before: &HashMap<String, i64>, done: &AtomicBool) -> Option<Duration> {
    let start = Instant::now();
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(250));
        let now = heads(store).unwrap_or_default();
        if before.iter().all(|(run, head)| now.get(run) > Some(head)) {
            return Some(start.elapsed());
        }
    }
    None
}

/// Returns how many runs have an entry and how many have ended. Fails as long as there is no store.
fn begun_and_ended(store: &Path) -> rusqlite::Result<[i64; 2]> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(store, flags)?;
    let counts = "SELECT count(*), count(class) FROM runs WHERE head_seq >= 0";
    conn.query_row(counts, [], |row| Ok([row.get(0)?, row.get(1)?]))
}

fn line(name: &str, folder: &Path, runs: u64, cost: Cost) -> String {
    let text = fs::read_to_string(folder.join("results.jsonl")).expect("results");
    let results: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let ended = StoreReader::open(&folder.join("runs.db"))
        .and_then(|reader| reader.list_runs(usize::MAX, RunFilter::Sealed))
        .expect("rows");
    let succeeded = ended
        .iter()
        .filter(|row| {
            row.outcome
                .as_ref()
                .is_some_and(|(class, _)| class == "COMPLETED_WITH_TOOLS")
        })
        .count();
    let mut times: Vec<f64> = results
        .iter()
        .filter_map(|result| result["counters"]["elapsed_ms"].as_f64())
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    let slowest = times.last().copied().unwrap_or(f64::NAN);
    format!(
        "| {name} | {succeeded} of {runs} | {:.1} s | {:.2} ms | {:.2} | {:.0} MB |",
        cost.wall.as_secs_f64(),
        cost.cpu.as_secs_f64() * 1e3 / (runs * TURNS) as f64,
        slowest / median,
        cost.peak as f64 / 1e6,
    )
}

/// A folder with a list of runs under one contract.
fn folder(server: &Server, runs: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| {
        fs::write(folder.path().join(name), text).expect("a file");
    };
    write(FILE, "a line of text\n".repeat(20));
    // An hour, since all of them share the processors.
    let more = "step_timeout_ms: 3600000\ntotal_timeout_ms: 7200000\nmax_resumes: 9\n";
    write(
        "agent.yaml",
        contract(&server.base_url(TURNS, &format!("-{runs}"))) + more,
    );
    let list = (0..runs)
        .map(|n| json!({"contract": "agent.yaml", "run_id": format!("r{n}")}).to_string() + "\n");
    write("list.jsonl", list.collect());
    folder
}

fn begin(folder: &Path, runs: u64) -> Command {
    let mut command = command(folder);
    command.args(["run", "--contracts", "list.jsonl"]);
    bounded(command, runs)
}

fn command(folder: &Path) -> Command {
    let results = fs::File::create(folder.join("results.jsonl")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_monolith"));
    command
        .current_dir(folder)
        .env("MONOLITH_HOME", folder.join("home"))
        .stdin(Stdio::null())
        .stdout(results);
    command
}

fn bounded(mut command: Command, runs: u64) -> Command {
    command
        .args(["--max-runs", &runs.to_string(), "--max-inferences", "64"])
        .args(["--durability", "normal", "--store", "runs.db"]);
    command
}
