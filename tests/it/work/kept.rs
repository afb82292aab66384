//! What monolith keeps of items: contents as long as something needs them, the output of tests, and nothing of a deleted item.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{fixture, writes};
use crate::fixture::{Fixture, text};

/// An agent that may write once a person allows it.
const ASKS: &str =
    "tools: {builtin: [write_file, shell], sandbox: off}\nrequire_approval: [write_file]\n";

impl Fixture {
    /// The file that keeps a content of a tree.
    fn kept_file(&self, content: &str) -> PathBuf {
        let hash = blake3::hash(content.as_bytes()).to_string();
        let (first, rest) = hash.split_at(2);
        self.path(&format!("home/runs.db.work/blobs/{first}/{rest}"))
    }

    /// Each of these contents is kept, or is not.
    #[track_caller]
    fn keeps(&self, contents: &[(&str, bool)]) {
        for (content, is_kept) in contents {
            assert_eq!(self.kept_file(content).exists(), *is_kept, "{content:?}");
        }
    }

    /// Runs one item that must succeed; its receipt.
    #[track_caller]
    fn succeeds(&self, id: &str, agent: &str, more: Value) -> Value {
        self.items(&[(id, agent, more)]);
        let (code, result) = self.result();
        assert_eq!(code, 0, "{result}");
        let receipt = result["receipt_id"].as_str().unwrap();
        serde_json::from_str(&self.ok(&["work", "receipt", receipt])).unwrap()
    }
}

#[test]
fn contents_that_no_item_needs_go_after_a_run_and_those_of_receipts_stay() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("lost.txt", "lost\n")]);
    fixture.items(&[("w", "agent-1", json!({"test_command": "false"}))]);
    assert_eq!(fixture.result().0, 1);
    // `show` needs its changes alone.
    fixture.keeps(&[("lost\n", true), ("a\n", false)]);
    fixture.item_agent("agent-2", &[writes("README.md", "changed\n")]);
    let first = fixture.succeeds("first", "agent-2", json!({}));
    fixture.write("tree/src/a.txt", "b\n");
    fixture.item_agent("agent-3", &[writes("src/b.txt", "b of the agent\n")]);
    fixture.items(&[("bad", "agent-3", json!({"test_command": "false"}))]);
    assert_eq!(fixture.result().0, 1);
    // A replay needs the tree before a success, and the tree before a failure is needed by nothing.
    fixture.keeps(&[
        ("one\ntwo\nthree\n", true),
        ("a\n", true),
        ("changed\n", true),
        ("b of the agent\n", true),
        ("b\n", false),
    ]);
    let said = fixture.ok(&["work", "replay", "first"]);
    assert_eq!(Some(said.trim_end()), first["after"].as_str());
    assert_eq!(
        fixture.ok(&["work", "thaw", "first"]),
        "restored  README.md\n"
    );
    assert_eq!(fixture.read("tree/README.md"), "one\ntwo\nthree\n");
}

#[test]
fn an_item_that_waits_for_a_person_keeps_what_it_needs() {
    let fixture = fixture();
    fixture.agent_with("agent-1", ASKS, &[writes("README.md", "changed\n")]);
    fixture.items(&[("waits", "agent-1", json!({}))]);
    let waiting = fixture.read("work.yaml");
    fixture.ends(&["work", "run", "work.yaml"], 8);
    fixture.write("tree/mine.txt", "mine\n");
    fixture.item_agent("agent-2", &[writes("new.txt", "new\n")]);
    fixture.items(&[("bad", "agent-2", json!({"test_command": "false"}))]);
    fixture.write("other.yaml", &fixture.read("work.yaml"));
    fixture.write("work.yaml", &waiting);
    fixture.ends(&["work", "run", "other.yaml"], 1);
    fixture.keeps(&[("a\n", true), ("mine\n", false)]);
    let inbox = fixture.json(&["approvals"]).1;
    fixture.answers("approve", inbox["approvals"][0]["run_id"].as_str().unwrap());
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    fixture.ok(&["work", "replay", "waits"]);
}

#[test]
fn nothing_of_a_deleted_item_stays() {
    let fixture = fixture();
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(words).current_dir(fixture.path("tree"));
        text(&command.output().unwrap().stdout)
    };
    git(&["init", "-q"]);
    fixture.item_agent("agent-1", &[writes("one.txt", "first\n")]);
    fixture.item_agent("agent-2", &[writes("two.txt", "second\n")]);
    let first = fixture.succeeds("first", "agent-1", json!({}));
    let second = fixture.succeeds("second", "agent-2", json!({}));
    let refs = || git(&["for-each-ref", "--format=%(refname)", "refs/monolith"]);
    assert_eq!(refs().lines().count(), 2, "{}", refs());
    let folders = || {
        std::fs::read_dir(fixture.path("home/work"))
            .unwrap()
            .count()
    };
    assert_eq!(folders(), 2);
    let name = first["work_id"].as_str().unwrap();
    fixture.ok(&["delete", name, "--yes"]);
    fixture.ends(&["work", "show", "first"], 4);
    let run = first["run"]["run_id"].as_str().unwrap();
    let deleted = fixture.ends(&["show", run], 7);
    assert!(deleted.err.contains("it was deleted"), "{}", deleted.err);
    assert_eq!((refs().lines().count(), folders()), (1, 1), "{}", refs());
    // The other item began from a tree with this content.
    fixture.keeps(&[("first\n", true), ("second\n", true)]);
    let said = fixture.ok(&["work", "replay", "second"]);
    assert_eq!(Some(said.trim_end()), second["after"].as_str());
    fixture.ok(&["log", "verify"]);
    fixture.ok(&["delete", second["work_id"].as_str().unwrap(), "--yes"]);
    fixture.keeps(&[("first\n", false), ("second\n", false), ("a\n", false)]);
    assert_eq!((refs().as_str(), folders()), ("", 0));
    assert_eq!(fixture.ok(&["work", "list"]), "no work items\n");
    assert_eq!(fixture.read("tree/one.txt"), "first\n");
}

#[test]
fn the_output_of_tests_is_kept_whole_and_verified_with_the_item() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    let command = "seq 1 20000; echo the end";
    let receipt = fixture.succeeds("w", "agent-1", json!({"test_command": command}));
    let lines = (1..=20_000).map(|number| format!("{number}\n"));
    let whole = lines.collect::<String>() + "the end\n";
    assert!(receipt["tests"]["output"].as_str().unwrap().len() <= 16 << 10);
    let hash = blake3::hash(whole.as_bytes()).to_string();
    assert_eq!(receipt["tests"]["output_blob"], hash);
    assert_eq!(fixture.ok(&["work", "show", "w", "--test-output"]), whole);
    fixture.ok(&["work", "verify", "w"]);
    fixture.ok(&["log", "verify"]);
    let name = receipt["work_id"].as_str().unwrap();
    fixture.ok(&["export", name, "-o", "item.jsonl"]);
    fixture.ok(&["verify", "item.jsonl"]);
    let exported = fixture.read("item.jsonl");
    let without: Vec<&str> = exported
        .lines()
        .filter(|line| !line.starts_with(&format!("{{\"blob\":\"{hash}\"")))
        .collect();
    fixture.write("cut.jsonl", &(without.join("\n") + "\n"));
    fixture.ends(&["verify", "cut.jsonl"], 7);
    fixture.item_agent("agent-2", &[writes("other.txt", "other\n")]);
    fixture.succeeds("untested", "agent-2", json!({}));
    let none = fixture.ends(&["work", "show", "untested", "--test-output"], 4);
    assert!(none.err.contains("its item ran no tests"), "{}", none.err);
}

#[test]
fn a_live_replay_runs_the_agent_again_and_need_not_match() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("README.md", "changed\n")]);
    let receipt = fixture.succeeds("w", "agent-1", json!({}));
    let recorded = format!("recorded  {}\n", receipt["after"].as_str().unwrap());
    let state = fixture.state();
    let same = fixture.ends(&["work", "replay", "w", "--live"], 0);
    assert_eq!(
        same.out,
        recorded.clone() + &recorded.replace("recorded", "live    ")
    );
    assert!(
        same.err.contains("not required to leave the same tree"),
        "{}",
        same.err
    );
    fixture.item_agent("agent-1", &[writes("README.md", "changed otherwise\n")]);
    let other = fixture.ends(&["work", "replay", "w", "--live"], 0);
    assert!(other.out.starts_with(&recorded), "{}", other.out);
    assert_ne!(other.out, same.out);
    let path = "the first path that differs: README.md";
    assert!(other.err.contains(path), "{}", other.err);
    let (code, report) = fixture.json(&["work", "replay", "w", "--live"]);
    assert_eq!((code, &report["calls"]), (0, &json!(1)), "{report}");
    let run = report["live"]["run_id"].as_str().unwrap();
    fixture.ok(&["verify", run]);
    assert_eq!(fixture.state(), state);
    // The recorded calls still give the recorded tree.
    fixture.ok(&["work", "replay", "w"]);
}

#[test]
fn a_live_replay_says_that_the_file_of_the_agent_has_changed() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("README.md", "changed\n")]);
    fixture.succeeds("w", "agent-1", json!({}));
    let live = ["work", "replay", "w", "--live"];
    let note = "the file of the agent has changed since the item";
    let same = fixture.ends(&live, 0).err;
    assert!(!same.contains(note), "{same}");
    let (_, report) = fixture.json(&live);
    assert!(report["live"]["changed_contract"].is_null(), "{report}");
    let text = fixture.read("agent-1.yaml");
    fixture.write("agent-1.yaml", &format!("{text}max_turns: 5\n"));
    let other = fixture.ends(&live, 0).err;
    assert!(other.contains(note), "{other}");
    let (_, report) = fixture.json(&live);
    let hash = blake3::hash(fixture.read("agent-1.yaml").as_bytes()).to_string();
    assert_eq!(report["live"]["changed_contract"], hash, "{report}");
}

#[test]
fn a_live_replay_that_is_interrupted_says_so() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("README.md", "changed\n")]);
    fixture.succeeds("w", "agent-1", json!({}));
    fixture.write("agent-1.jsonl", "{\"fault\":\"hang\"}");
    let runs = || fixture.json(&["list"]).1["runs"].as_array().map(Vec::len);
    let before = runs();
    let mut command = fixture.command(&["work", "replay", "w", "--live"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = command.spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while runs() == before {
        assert!(Instant::now() < until, "the run does not begin");
    }
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    let ended = process.wait_with_output().unwrap();
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("did not succeed: "), "{said}");
    assert!(!said.contains("use the work tree"), "{said}");
}

#[test]
fn a_conflict_that_an_unfinished_item_merges_is_kept() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("README.md", "first\n")]);
    fixture.item_agent("agent-2", &[writes("README.md", "second\n")]);
    fixture.agent_with("agent-3", ASKS, &[writes("README.md", "both\n")]);
    let merges = json!({"dependencies": ["a", "b"], "reconciles": true});
    fixture.items(&[
        ("a", "agent-1", json!({})),
        ("b", "agent-2", json!({})),
        ("merge", "agent-3", merges),
    ]);
    let (code, results) = fixture.item_results(&[]);
    assert_eq!((code, results.len()), (8, 2), "{results:?}");
    let receipt = results[1]["receipt_id"].as_str().unwrap();
    let whole: Value = serde_json::from_str(&fixture.ok(&["work", "receipt", receipt])).unwrap();
    let work_id = whole["work_id"].as_str().unwrap();
    let left = fixture.ends(&["delete", work_id, "--yes"], 4).err;
    assert!(left.contains("`merge` reconciles it"), "{left}");
    let pruned = fixture.ends(&["prune", "--older-than", "0s", "--yes"], 0);
    let kept = format!("kept {work_id}: cannot delete run {work_id}: the unfinished item `merge`");
    assert!(pruned.err.contains(&kept), "{}", pruned.err);
    fixture.ok(&["work", "verify", receipt]);
    fixture.ok(&["delete", work_id, "--yes", "--force"]);
}
