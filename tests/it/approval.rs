//! A call that waits for a person, answered by `monolith approve` from another process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use monolith::{EventKind, RunId, StoreReader};
use serde_json::json;
use tempfile::TempDir;

/// A folder with a contract whose scripted model makes a call that needs an approval, and answers.
struct Desk(TempDir);

const ARGUMENTS: &str = "{\"text\":\"hi \\u202e\u{1b}[2K\"}";

impl Desk {
    fn new() -> Self {
        let desk = Self(TempDir::new().unwrap());
        let call = json!({"id": "a", "type": "function",
            "function": {"name": "echo", "arguments": ARGUMENTS.replace('\u{1b}', "\\u001b")}});
        let said = [
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "assistant", "content": "said"}),
        ];
        let lines = said.map(|message| {
            json!({"response": {"choices": [{"index": 0, "message": message}]}}).to_string()
        });
        desk.write("s.jsonl", &lines.join("\n"));
        desk.write(
            "c.yaml",
            "task: hi\ntool_policy: optional\ntargets: [{provider: demo, model: script}]\n\
             providers: {demo: {type: scripted, file: s.jsonl}}\ntools: {builtin: [echo]}\n\
             require_approval: [echo]\n",
        );
        desk
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_monolith"));
        command
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env("MONOLITH_HOME", self.0.path().join("home"));
        command
    }

    fn says(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// A process that waits for an approval, and the hash that it shows.
    fn waiting(&self, args: &[&str]) -> (Child, String) {
        let mut run = self
            .command(args)
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut hash = None;
        let mut told = String::new();
        for line in BufReader::new(run.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            told.push_str(&line);
            if let Some((_, shown)) = line.split_once("blake3") {
                hash = Some(shown.trim().to_owned());
            }
            if line.contains("monolith approve r1") {
                break;
            }
        }
        assert!(
            told.contains("call 1 of echo asks for your approval"),
            "{told}"
        );
        assert!(!told.contains('\u{1b}'), "{told}");
        (run, hash.unwrap())
    }

    fn answers(&self, expect: i32, args: &[&str]) -> String {
        let output = self.says(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(expect), "{args:?}: {out}{err}");
        out + &err
    }

    fn events(&self) -> Vec<EventKind> {
        let reader = StoreReader::open(&self.0.path().join("home/runs.db")).unwrap();
        let mut reader = reader;
        let run = reader
            .read_run(&RunId::try_from("r1".to_owned()).unwrap())
            .unwrap();
        run.filter_map(|entry| entry.unwrap().decode_event().unwrap())
            .map(|event| event.event)
            .collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_call_runs_once_it_is_allowed_and_by_the_hash_of_its_arguments_only() {
    let desk = Desk::new();
    let (run, hash) = desk.waiting(&["run", "c.yaml", "--run-id", "r1"]);
    let told = desk.answers(4, &["approve", "r1"]);
    assert!(
        told.contains("nobody confirmed it") && told.contains(&hash),
        "{told}"
    );
    desk.answers(4, &["approve", "r1", "--yes"]);
    let told = desk.answers(4, &["approve", "r1", "--yes", "--arguments", "00000000"]);
    assert!(!told.contains(&hash[..12]), "{told}");
    let told = desk.answers(0, &["approve", "r1", "--yes", "--arguments", &hash[..12]]);
    assert_eq!(told, "allowed: call 1 of run r1\n");
    let output = run.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "said\n".to_owned())
    );
    let given = |event: &EventKind| matches!(event, EventKind::ApprovalGiven(_));
    assert_eq!(desk.events().iter().filter(|event| given(event)).count(), 1);
    desk.answers(0, &["replay", "r1"]);
    let told = desk.answers(4, &["approve", "r1", "--yes", "--arguments", &hash]);
    assert!(told.contains("none of its calls waits"), "{told}");
}

#[test]
fn a_refused_call_is_not_made_and_the_model_is_told() {
    let desk = Desk::new();
    let (run, hash) = desk.waiting(&["run", "c.yaml", "--run-id", "r1", "--json"]);
    desk.answers(
        0,
        &["approve", "r1", "--deny", "--yes", "--arguments", &hash],
    );
    let output = run.wait_with_output().unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_CHAT_ONLY",
        "{result}"
    );
    let told = result["conversation"].as_array().unwrap();
    let told: Vec<&str> = told
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert!(
        told.contains(&"(tool failed: denied: approval)"),
        "{told:?}"
    );
    assert!(
        !desk
            .events()
            .iter()
            .any(|event| matches!(event, EventKind::ToolReturned(_)))
    );
}

#[test]
fn a_run_whose_process_died_while_it_waited_can_still_be_answered() {
    let desk = Desk::new();
    let (mut run, hash) = desk.waiting(&["run", "c.yaml", "--run-id", "r1"]);
    run.kill().unwrap();
    run.wait().unwrap();
    let told = desk.answers(0, &["approve", "r1", "--yes", "--arguments", &hash]);
    assert!(told.contains("monolith resume r1"), "{told}");
    // Nobody has taken it yet: the same answer again says so, and another one is not put in its place unasked.
    let again = desk.answers(0, &["approve", "r1", "--yes", "--arguments", &hash]);
    assert!(again.starts_with("already allowed: call 1"), "{again}");
    let deny = ["approve", "r1", "--deny", "--yes", "--arguments", &hash];
    let other = desk.answers(4, &deny);
    assert!(
        other.contains("its call was allowed before") && other.contains("--replace"),
        "{other}"
    );
    let other = desk.answers(0, &[&deny[..], &["--replace"]].concat());
    assert!(
        other.contains("in the place of the answer before"),
        "{other}"
    );
    let back = ["approve", "r1", "--yes", "--replace", "--arguments", &hash];
    desk.answers(0, &back);
    let output = desk.says(&["resume", "r1"]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "said\n".to_owned())
    );
    desk.answers(0, &["replay", "r1"]);
}
