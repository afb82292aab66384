//! Appends: steps of many runs at once into the store, beside bare SQLite with the same rows, pragmas and batches, and beside a flat file
//! with one sync for each batch.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use monolith_core::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract, TargetCapability,
};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::SealedEntry;
use monolith_host::store::packed_entry_text;
use monolith_host::store::{Durability, Store};
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::ratio::{Limit, Row, time};

/// The most appends that the store puts into one transaction.
const MOST_IN_BATCH: usize = 512;
const CONTRACT: &str = "task: hi\ntargets: [{provider: demo, model: script}]\n\
    providers: {demo: {type: scripted, file: none.jsonl}}\n";

/// The load of one form of the bench: the number of runs, and of appends of all of them together.
struct Load {
    appends: usize,
    durability: Durability,
    runs: usize,
}

/// The steps of a run: each is appended as one.
type Steps = Vec<Vec<SealedEntry>>;

/// A row of `entries` with the bytes that the store writes.
#[derive(Clone)]
struct EntryRow {
    action: Value,
    event: Value,
    hash: Digest,
    seq: i64,
    state: &'static str,
}

impl From<&SealedEntry> for EntryRow {
    fn from(entry: &SealedEntry) -> Self {
        let column = |text: &String| match packed_entry_text(text) {
            Some(packed) => Value::Blob(packed),
            None => Value::Text(text.clone()),
        };
        Self {
            action: column(&entry.action),
            event: column(&entry.event),
            hash: entry.hash,
            seq: entry.seq as i64,
            state: entry.state.as_str(),
        }
    }
}

/// Prints the tables of appends, in a short form where nothing is to be measured. Returns how many figures are beyond their limits.
pub fn print(is_whole: bool) -> usize {
    let (runs, appends) = if is_whole {
        (&[1, 16, 256, 4096][..], 4096)
    } else {
        (&[1, 16][..], 32)
    };
    println!("\n| appends | cost | floor | ratio | spread | limit |\n|---|---|---|---|---|---|");
    let (mut lines, mut beyond) = (Vec::new(), 0);
    for durability in [Durability::Normal, Durability::Full] {
        for &runs in runs {
            // One run waits for the disk each time.
            let appends = match (durability, runs) {
                (Durability::Full, 1) => appends / 8,
                _ => appends.max(runs * 4),
            };
            let load = Load {
                appends,
                durability,
                runs,
            };
            for row in load.rows() {
                println!("{}", row.line());
                beyond += usize::from(!row.holds());
            }
            lines.push(load.latencies());
        }
    }
    println!("\n| appends | entries/s | p50 | p99 | appends per commit |\n|---|---|---|---|---|");
    for line in lines {
        println!("{line}");
    }
    beyond
}

impl Load {
    fn name(&self) -> String {
        format!("{} runs, {:?}", self.runs, self.durability)
    }

    fn rows(&self) -> [Row; 2] {
        let work = self.work();
        // Three quarters of the entries in a second are four thirds of the time.
        let limit = (self.runs == 256).then_some(Limit::AtMost(1.33));
        let name = format!("an entry, {}", self.name());
        let sqlite = || (self.ours(&work).entry(), self.sqlite(&work));
        let flat = || (self.ours(&work).entry(), self.flat(&work));
        [
            Row::of((&name, "bare SQLite, the same rows"), limit, sqlite, time),
            Row::of((&name, "a flat file"), None, flat, time),
        ]
    }

    fn latencies(&self) -> String {
        let mut took = self.ours(&self.work());
        took.each.sort();
        let at = |percent: usize| {
            let place = (took.each.len() * percent / 100).min(took.each.len() - 1);
            time(took.each[place].as_secs_f64())
        };
        format!(
            "| {} | {:.0} | {} | {} | {:.1} |",
            self.name(),
            1.0 / took.entry(),
            at(50),
            at(99),
            took.each.len() as f64 / took.commits as f64,
        )
    }

    /// The steps of each run, made before anything is measured.
    fn work(&self) -> Vec<Steps> {
        let each = self.appends / self.runs;
        (0..self.runs).map(|run| steps(run, each)).collect()
    }

    fn ours(&self, work: &[Steps]) -> Took {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("runs.db"), self.durability).expect("a store");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let contract = contract();
        let name = |run: usize| RunId::try_from(format!("r-{run}")).expect("an id");
        let runs = runtime.block_on(join_all((0..work.len()).map(async |run| {
            let made = store.create_run(&name(run), &contract, 1).await;
            made.expect("a run")
        })));
        // Copies are made before the clock starts: the store takes what it is handed.
        let work: Vec<_> = runs.into_iter().zip(work.to_vec()).collect();
        let entries = work.iter().flat_map(|(_, steps)| steps).map(Vec::len).sum();
        let commits = store.commits();
        let began = Instant::now();
        let each = runtime.block_on(join_all(work.into_iter().map(async |(mut run, steps)| {
            let mut each = Vec::with_capacity(steps.len());
            for step in steps {
                let began = Instant::now();
                let appended = store.append(&mut run, step, Vec::new()).await;
                appended.expect("an append");
                each.push(began.elapsed());
            }
            each
        })));
        Took {
            all: began.elapsed(),
            commits: store.commits() - commits,
            each: each.concat(),
            entries,
        }
    }

    /// Seconds for each entry of the same rows, packed before the clock starts, written by a loop that does nothing else.
    fn sqlite(&self, work: &[Steps]) -> f64 {
        let folder = tempfile::tempdir().expect("a folder");
        let packed = |step: &Vec<SealedEntry>| step.iter().map(EntryRow::from).collect::<Vec<_>>();
        let work = work.iter().map(|steps| steps.iter().map(packed).collect());
        let work: &[Vec<Vec<EntryRow>>] = &work.collect::<Vec<_>>();
        let conn = database(&folder.path().join("bare.db"), self.durability, work.len());
        let began = Instant::now();
        let mut entries = 0_usize;
        for batch in batches(work) {
            conn.execute_batch("BEGIN IMMEDIATE")
                .expect("a transaction");
            for (run, step) in batch {
                entries += step.len();
                keep(&conn, run, step).expect("rows");
            }
            conn.execute_batch("COMMIT").expect("a transaction");
        }
        began.elapsed().as_secs_f64() / entries as f64
    }

    /// The same as lines of a file.
    fn flat(&self, work: &[Steps]) -> f64 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = File::create(folder.path().join("flat.jsonl")).expect("a file");
        let began = Instant::now();
        let mut entries = 0_usize;
        for batch in batches(work) {
            let mut lines = Vec::new();
            for (run, step) in batch {
                for entry in step {
                    entries += 1;
                    serde_json::to_writer(&mut lines, &(run, entry)).expect("plain data");
                    lines.push(b'\n');
                }
            }
            file.write_all(&lines).expect("a file");
            if self.durability == Durability::Full {
                file.sync_data().expect("a disk");
            }
        }
        began.elapsed().as_secs_f64() / entries as f64
    }
}

/// The measurements of the appends of one load.
struct Took {
    all: Duration,
    commits: u64,
    each: Vec<Duration>,
    entries: usize,
}

impl Took {
    /// Seconds for each entry.
    fn entry(&self) -> f64 {
        self.all.as_secs_f64() / self.entries as f64
    }
}

/// The first step of all runs, then the second of all, and so on, as many at a time as share a commit.
fn batches<E>(work: &[Vec<Vec<E>>]) -> impl Iterator<Item = Vec<(usize, &[E])>> {
    let rounds = work.first().map_or(0, Vec::len);
    (0..rounds).flat_map(move |round| {
        let steps: Vec<_> = work
            .iter()
            .enumerate()
            .map(|(run, steps)| (run, steps[round].as_slice()))
            .collect();
        let batches: Vec<_> = steps.chunks(MOST_IN_BATCH).map(<[_]>::to_vec).collect();
        batches
    })
}

fn database(path: &Path, durability: Durability, runs: usize) -> Connection {
    let conn = Connection::open(path).expect("a database");
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    conn.execute_batch(&format!(
        "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
         PRAGMA wal_autocheckpoint = 4096; PRAGMA foreign_keys = ON;
         CREATE TABLE runs(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, head_seq INTEGER NOT NULL, head_hash BLOB NOT NULL) STRICT;
         CREATE TABLE entries(run INTEGER NOT NULL REFERENCES runs(id), seq INTEGER NOT NULL, state TEXT NOT NULL, event ANY NOT NULL,
             action ANY NOT NULL, hash BLOB NOT NULL, UNIQUE(run, seq)) STRICT;"
    ))
    .expect("tables");
    let mut insert = conn
        .prepare("INSERT INTO runs VALUES(?1, 1, -1, zeroblob(32))")
        .expect("a statement");
    for run in 0..runs {
        insert.execute([run as i64]).expect("a row");
    }
    drop(insert);
    conn
}

fn keep(conn: &Connection, run: usize, step: &[EntryRow]) -> rusqlite::Result<()> {
    let run = run as i64;
    let (Some(first), Some(last)) = (step.first(), step.last()) else {
        return Ok(());
    };
    let head = params![run, last.seq, last.hash.as_bytes(), first.seq - 1];
    let moved = conn
        .prepare_cached("UPDATE runs SET head_seq = ?2, head_hash = ?3 WHERE id = ?1 AND epoch = 1 AND head_seq = ?4")?
        .execute(head)?;
    assert_eq!(moved, 1);
    let mut insert = conn.prepare_cached("INSERT INTO entries VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?;
    for entry in step {
        insert.execute(params![
            run,
            entry.seq,
            entry.state,
            entry.event,
            entry.action,
            entry.hash.as_bytes()
        ])?;
    }
    Ok(())
}

/// So many steps of a run that calls tools, by turns those after an inference and those after a call.
fn steps(run: usize, count: usize) -> Steps {
    let digest = |of: &str, seq: u64| Digest::of(format!("{of} {run} {seq}").as_bytes());
    let mut seq = 0;
    let mut entry = |from: &str, to: &str, event: String, more: &str| {
        let (conversation, state, turn) = (digest("c", seq / 5), digest("s", seq), seq / 5);
        let action = format!(
            r#"{{"adapter_version":"openai-chat/1","attempt":1,"conversation_digest":"{conversation}","counters":{{"calls":{turn},"cost_micro_usd":0,"executed":{turn},"executed_ok":{turn},"format_retries":0,"inferences":{turn},"resumes":0,"tokens_cache_read":0,"tokens_in":{turn}00,"tokens_out":{turn}0,"turns":{turn}}},{more}"from":"{from}","kind":"transition","model_fingerprint":"openai:m","model_profile_id":"unknown","seq":{seq},"state_digest":"{state}","step_id":{turn},"target":0,"to":"{to}"}}"#
        );
        let sealed = serde_json::json!({
            "seq": seq, "state": to, "event": event, "action": action, "hash": digest("h", seq),
        });
        seq += 1;
        serde_json::from_value::<SealedEntry>(sealed).expect("an entry")
    };
    let null = || "null".to_owned();
    let step = |number: usize| {
        if number.is_multiple_of(2) {
            let (request, raw) = (digest("q", number as u64), digest("r", number as u64));
            let returned = format!(
                r#"{{"at_ms":{number},"event":{{"kind":"inference_returned","value":{{"gate_breached":false,"inference":{number},"request_hash":"{request}","result":{{"adapter_version":"openai-chat/1","canonical_message":{{"content":"","role":"assistant","tokens":0,"tool_calls":[{{"arguments":"{{\"path\":\"a.txt\"}}","id":"call_{number}","name":"read_file","source_model":"m"}}]}},"raw_hash":"{raw}","status":"native","stop":"end","usage":{{"cache_read":0,"estimated":false,"input":100,"output":20}}}},"usage":{{"cache_read":0,"estimated":false,"input":100,"output":20}}}}}}}}"#
            );
            let execute = r#""effects":[{"kind":"execute","value":{"arguments_hash":"c3c003103fcf4f14353c622453100d88bcd67c821cbccf4202968bb1599a5c51","call":1,"id":"call_1","name":"read_file"}}],"#;
            vec![
                entry("INFER", "VALIDATE_CALLS", returned, ""),
                entry("VALIDATE_CALLS", "EXECUTE", null(), execute),
            ]
        } else {
            let text = "a line of text\\n".repeat(20);
            let returned = format!(
                r#"{{"at_ms":{number},"event":{{"kind":"tool_returned","value":{{"call":{number},"outcome":{{"kind":"returned","value":{{"bytes_in":16,"bytes_out":300,"content":[{{"kind":"text","value":"{text}"}}],"duration_ms":4,"started_at_ms":{number},"status":"ok","tokens":75,"tool":"read_file","tool_call_id":"call_{number}"}}}}}}}}}}"#
            );
            let infer = r#""effects":[{"kind":"infer","value":{"attempt":1,"inference":1,"notices":[],"target":0,"tools":true}}],"#;
            vec![
                entry("EXECUTE", "OBSERVE", returned, ""),
                entry("OBSERVE", "COMMIT", null(), ""),
                entry("COMMIT", "INFER", null(), infer),
            ]
        }
    };
    (0..count).map(step).collect()
}

fn contract() -> ExecutionContract {
    let spec = ContractSpec::parse("bench.yaml", CONTRACT, &[]).expect("a contract file");
    let manifest = CapabilityManifest {
        targets: vec![TargetCapability::default()],
        ..CapabilityManifest::default()
    };
    let made = ContractFactory.make(&spec, &manifest, None);
    made.expect("a contract")
}
