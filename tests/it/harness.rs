//! A folder with a run that can be killed: a scripted model, and an MCP server that keeps count of its executions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use monolith_core::message::RunId;
use monolith_core::transcript::SealedEntry;
use monolith_host::store::StoreReader;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::monolith;

/// An MCP server that counts its calls in the file that it is given.
pub const COUNTING_SERVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/counting_server.py"
);

/// An MCP server that begins, and whose tool ends, once a file is there: `STARTS CALLS WAITS`.
pub const MEETING_SERVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/meeting_server.py"
);

pub struct Harness {
    folder: TempDir,
    random: u64,
}

impl Harness {
    /// True if the server can be started here; prints a line if it cannot.
    pub fn has_python() -> bool {
        let there = Command::new("python3").arg("--version").output().is_ok();
        if !there {
            println!("skipped: no python3 to run {COUNTING_SERVER}");
        }
        there
    }

    pub fn new(random: u64) -> Self {
        let folder = TempDir::new().unwrap();
        // The store lies in the state folder, which the server does not see.
        let mut private = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(folder.path().join("home")).unwrap();
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
        let lines = said.clone().map(|message| {
            let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
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
            "tools": {"mcp": {"fs": {"command": "python3", "args": [COUNTING_SERVER, "executions"]}}},
        });
        std::fs::write(folder.path().join("c.yaml"), contract.to_string()).unwrap();
        // The same answers in pieces, results with a secret in them, a signed checkpoint at every step.
        let lines = said.map(|message| {
            json!({"response": in_pieces(&message), "stream": true, "delay_ms": 2}).to_string()
        });
        std::fs::write(folder.path().join("pieces.jsonl"), lines.join("\n")).unwrap();
        let mut secret = contract.clone();
        secret["providers"]["demo"]["file"] = "pieces.jsonl".into();
        secret["sampling"] = json!({"stream": true});
        secret["redact"] = json!({"patterns": ["cou[n]ted"]});
        secret["checkpoint_every"] = 1.into();
        std::fs::write(folder.path().join("secret.yaml"), secret.to_string()).unwrap();
        // Calls that wait for somebody who never comes.
        let mut waiting = contract.clone();
        waiting["require_approval"] = json!(["fs__safe"]);
        waiting["approval_timeout_ms"] = 30.into();
        waiting["checkpoint_every"] = 3.into();
        std::fs::write(folder.path().join("waiting.yaml"), waiting.to_string()).unwrap();
        // One that delegates to the first: two agents beside each other, then one more.
        let agent = |id: &str| {
            json!({"id": id, "type": "function",
                "function": {"name": "agent__c", "arguments": "{\"prompt\": \"Count.\"}"}})
        };
        let said = [
            asks(&[agent("a"), agent("b")]),
            asks(&[agent("c")]),
            json!({"role": "assistant", "content": "led"}),
        ];
        let lines = said.map(|message| {
            let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
            json!({"response": {"choices": [choice]}, "delay_ms": 2}).to_string()
        });
        std::fs::write(folder.path().join("lead.jsonl"), lines.join("\n")).unwrap();
        let mut lead = contract.clone();
        lead["providers"]["demo"]["file"] = "lead.jsonl".into();
        lead["agents"] = json!(["c.yaml"]);
        lead["parallel_safe"] = json!(["agent__c"]);
        lead["idempotent"] = json!([]);
        lead["tools"] = json!({});
        std::fs::write(folder.path().join("lead.yaml"), lead.to_string()).unwrap();
        Self { folder, random }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn database(&self) -> PathBuf {
        self.path().join("home/runs.db")
    }

    /// xorshift64: the same kills for the same seed, as far as the system lets them be.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    pub fn command(&self, args: &[&str], durability: &str) -> Command {
        let mut command = monolith(self.path(), args);
        command
            .args(["--store", "home/runs.db", "--durability", durability])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Begins the run, or resumes it if it has begun.
    pub fn drive(&self, run_id: &RunId, durability: &str) -> Command {
        self.drive_under("c.yaml", run_id, durability)
    }

    /// [`Self::drive`] under another contract of the harness.
    pub fn drive_under(&self, contract: &str, run_id: &RunId, durability: &str) -> Command {
        let name = run_id.as_str();
        if self.stored(run_id).is_empty() {
            self.command(
                &["run", "--contract", contract, "--run-id", name],
                durability,
            )
        } else {
            self.command(&["resume", name], durability)
        }
    }

    /// Begins the run as a fork of another after one of that one's entries, or resumes it if it has begun.
    pub fn drive_fork(&self, of: &RunId, at: u64, run_id: &RunId, durability: &str) -> Command {
        let name = run_id.as_str();
        if self.stored(run_id).is_empty() {
            let (of, at) = (of.as_str(), at.to_string());
            self.command(
                &["replay", of, "--fork-at", &at, "--run-id", name],
                durability,
            )
        } else {
            self.command(&["resume", name], durability)
        }
    }

    pub fn length(&self, run_id: &RunId) -> u64 {
        let Ok(mut reader) = StoreReader::open(&self.database()) else {
            return 0;
        };
        let run = reader.read_run(run_id);
        run.map_or(0, |run| run.row().length)
    }

    pub fn stored(&self, run_id: &RunId) -> Vec<SealedEntry> {
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
    pub fn wait_for(&mut self, child: &mut Child, run_id: &RunId, entries: u64) -> bool {
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

    /// Counts the executions of each call of the run.
    pub fn executions(&self, run_id: &RunId) -> BTreeMap<u64, u64> {
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

    pub fn sealed(&self, run_id: &RunId) -> bool {
        let Ok(mut reader) = StoreReader::open(&self.database()) else {
            return false;
        };
        let run = reader.read_run(run_id);
        run.is_ok_and(|run| run.row().outcome.is_some())
    }
}

/// Formats a message as a stream of chat chunks: each call and each character is a separate piece.
fn in_pieces(message: &Value) -> String {
    let piece = |delta: &Value, end: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let mut stream = piece(&json!({"role": "assistant"}), None);
    let calls = message["tool_calls"].as_array();
    for (at, call) in calls.into_iter().flatten().enumerate() {
        let mut call = call.clone();
        call["index"] = at.into();
        stream += &piece(&json!({"tool_calls": [call]}), None);
    }
    for letter in message["content"].as_str().unwrap_or_default().chars() {
        stream += &piece(&json!({"content": letter.to_string()}), None);
    }
    let end = if calls.is_some() {
        "tool_calls"
    } else {
        "stop"
    };
    stream + &piece(&json!({}), Some(end)) + "data: [DONE]\n\n"
}
