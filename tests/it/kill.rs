//! kill -9, at every boundary of entries and inside appends, over runs whose tools count their executions: nothing durable
//! is lost, nothing completed is repeated, and `resume` brings every run to its end.
//!
//! `MONOLITH_KILLS=1000 cargo test --test it kill` kills that often.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use monolith::kernel::{EffectRecord, EventKind};
use monolith::message::{CallSeq, Digest, RunId, ToolOutcome};
use monolith::replay::{BlobSource, Replayer};
use monolith::store::StoreReader;
use monolith::transcript::SealedEntry;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How often the normal test run kills.
const KILLS: u64 = 25;
/// How often one run is killed before it may come to its end.
const KILLS_PER_RUN: u64 = 4;
/// About how many entries a run has that is not killed.
const ENTRIES: u64 = 30;
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/counting_server.py"
);

struct Bench {
    folder: TempDir,
    random: u64,
}

struct Blobs(StoreReader);

impl BlobSource for Blobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.blob(hash).unwrap()
    }
}

impl Bench {
    fn new(random: u64) -> Self {
        let folder = TempDir::new().unwrap();
        let call = |id: &str, name: &str| {
            json!({"id": id, "type": "function",
                "function": {"name": format!("fs__{name}"), "arguments": "{}"}})
        };
        let asks =
            |calls: &[Value]| json!({"role": "assistant", "content": null, "tool_calls": calls});
        let said = [
            asks(&[call("a", "count")]),
            asks(&[call("b", "safe")]),
            asks(&[call("c", "count"), call("d", "safe"), call("e", "count")]),
            asks(&[call("f", "count"), call("g", "count")]),
            json!({"role": "assistant", "content": "counted"}),
        ];
        let lines = said.map(|message| {
            let choice = json!({"index": 0, "message": message});
            json!({"response": {"choices": [choice]}, "delay_ms": 2}).to_string()
        });
        std::fs::write(folder.path().join("s.jsonl"), lines.join("\n")).unwrap();
        let contract = json!({
            "task": "Count.",
            "tool_policy": "optional",
            "targets": [{"provider": "demo", "model": "script"}],
            "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
            "idempotent": ["fs__safe"],
            "parallel_tool_calls": true,
            "parallel_safe": ["fs__count"],
            "max_resumes": 100,
            "max_inferences": 1000,
            "tools": {"mcp": {"fs": {"command": "python3", "args": [SCRIPT, "executions"]}}},
        });
        std::fs::write(folder.path().join("c.yaml"), contract.to_string()).unwrap();
        Self { folder, random }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn database(&self) -> PathBuf {
        self.path().join("runs.db")
    }

    /// xorshift64: the same kills for the same seed, as far as the system lets them be.
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    fn command(&self, args: &[&str], durability: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_monolith"));
        command
            .args(args)
            .args(["--store", "runs.db", "--durability", durability])
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Begins the run, or goes on with it where it has begun.
    fn drive(&self, run_id: &RunId, durability: &str) -> Command {
        let name = run_id.as_str();
        if self.stored(run_id).is_empty() {
            self.command(
                &["run", "--contract", "c.yaml", "--run-id", name],
                durability,
            )
        } else {
            self.command(&["resume", name], durability)
        }
    }

    fn length(&self, run_id: &RunId) -> u64 {
        let Ok(mut reader) = StoreReader::open(&self.database()) else {
            return 0;
        };
        let run = reader.read_run(run_id);
        run.map_or(0, |run| run.row().length)
    }

    fn stored(&self, run_id: &RunId) -> Vec<SealedEntry> {
        let Ok(mut reader) = StoreReader::open(&self.database()) else {
            return Vec::new();
        };
        let Ok(run) = reader.read_run(run_id) else {
            return Vec::new();
        };
        run.map(Result::unwrap).collect()
    }

    /// Waits until the run has `entries`, and then for a moment that lies somewhere within its next appends. False where
    /// the process ended first.
    fn wait_for(&mut self, child: &mut Child, run_id: &RunId, entries: u64) -> bool {
        while self.length(run_id) < entries {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::yield_now();
        }
        let moment = Instant::now() + Duration::from_micros(self.below(4_000));
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        child.try_wait().unwrap().is_none()
    }

    /// How often each call of the run was executed.
    fn executions(&self, run_id: &RunId) -> BTreeMap<u64, u64> {
        let text = std::fs::read_to_string(self.path().join("executions")).unwrap_or_default();
        let mut executions = BTreeMap::new();
        for line in text.lines() {
            let (run, call) = line.rsplit_once(':').unwrap();
            if run == run_id.as_str() {
                *executions.entry(call.parse().unwrap()).or_default() += 1;
            }
        }
        executions
    }

    /// One run, killed up to `kills` times and then brought to its end; how often it was killed.
    fn run(&mut self, number: u64, kills: u64) -> u64 {
        let run_id = RunId::try_from(format!("r{number}")).unwrap();
        let durability = if number.is_multiple_of(2) {
            "normal"
        } else {
            "full"
        };
        let mut killed = 0;
        let mut before = Vec::new();
        // The first kill goes through all boundaries in turn; what follows is wherever the run then is.
        let mut entries = number % ENTRIES;
        for _ in 0..kills {
            let mut child = self.drive(&run_id, durability).spawn().unwrap();
            let alive = self.wait_for(&mut child, &run_id, entries);
            let seen = self.stored(&run_id);
            child.kill().unwrap();
            child.wait().unwrap();
            killed += u64::from(alive);
            let after = self.stored(&run_id);
            assert_eq!(seen[..before.len()], before, "{run_id}: before the kill");
            assert_eq!(after[..seen.len()], seen, "{run_id}: after the kill");
            before = after;
            if self.sealed(&run_id) {
                break;
            }
            entries = before.len() as u64 + self.below(6);
        }
        if !self.sealed(&run_id) {
            let mut last = self.drive(&run_id, durability);
            let left = last.stdout(Stdio::piped()).stderr(Stdio::piped());
            let left = left.output().unwrap();
            let said = String::from_utf8_lossy(&left.stderr);
            assert!(left.status.success(), "{run_id}: {:?}: {said}", left.status);
        }
        self.judge(&run_id, &before);
        killed
    }

    fn sealed(&self, run_id: &RunId) -> bool {
        let Ok(mut reader) = StoreReader::open(&self.database()) else {
            return false;
        };
        let run = reader.read_run(run_id);
        run.is_ok_and(|run| run.row().outcome.is_some())
    }

    /// What must hold of a run that has come to its end, whatever happened on the way.
    fn judge(&self, run_id: &RunId, before: &[SealedEntry]) {
        let entries = self.stored(run_id);
        assert_eq!(
            entries[..before.len()],
            *before,
            "{run_id}: durable entries"
        );
        let mut reader = StoreReader::open(&self.database()).unwrap();
        let verified = reader.verify_run(run_id, false).unwrap();
        assert_eq!(verified.first_bad, None, "{run_id}");
        let run = reader.read_run(run_id).unwrap();
        let outcome = run.row().outcome.clone().unwrap().0;
        assert!(outcome.starts_with("COMPLETED_"), "{run_id}: {outcome}");
        let mut replayer = Replayer::new(run.contract().unwrap(), run_id);
        drop(run);
        let blobs = Blobs(StoreReader::open(&self.database()).unwrap());
        let mut starts: BTreeMap<CallSeq, u64> = BTreeMap::new();
        let mut returned: BTreeMap<CallSeq, u64> = BTreeMap::new();
        for entry in &entries {
            replayer.take(entry, &blobs);
            let event = entry.decode_event().unwrap();
            if let Some(EventKind::ToolReturned(ended)) = event.map(|event| event.event)
                && matches!(ended.outcome, ToolOutcome::Returned(_))
            {
                returned.insert(ended.call, starts[&ended.call]);
            }
            for effect in entry.decode_action().unwrap().effects {
                if let EffectRecord::Execute { call, .. } = effect {
                    *starts.entry(call).or_default() += 1;
                }
            }
        }
        let report = replayer.finish(false);
        assert!(report.same, "{run_id}: {:?}", report.first_difference);
        let executions = self.executions(run_id);
        for (call, executed) in &executions {
            let started = starts.get(&CallSeq(*call)).copied().unwrap_or(0);
            assert!(
                *executed <= started,
                "{run_id}: call {call} was executed {executed} times, and its start was recorded {started} times"
            );
        }
        for (call, starts_until_then) in &returned {
            assert_eq!(
                starts[call], *starts_until_then,
                "{run_id}: call {call} was started again after it had returned"
            );
            assert!(
                executions.contains_key(&call.0),
                "{run_id}: call {call} returned without having been executed"
            );
        }
    }
}

#[test]
fn a_killed_run_loses_nothing_and_repeats_nothing() {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped: no python3 to run {SCRIPT}");
        return;
    }
    let wanted = std::env::var("MONOLITH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut bench = Bench::new(0x9e37_79b9_7f4a_7c15);
    let (mut killed, mut runs) = (0, 0);
    while killed < wanted {
        // Step over the boundaries so that few kills, too, reach all parts of a run.
        killed += bench.run(runs * 7, KILLS_PER_RUN.min(wanted - killed));
        runs += 1;
        assert!(runs < wanted * 4 + 8, "only {killed} kills in {runs} runs");
    }
    println!("{killed} kills over {runs} runs");
}
