//! kill -9 while an item is under way: the next process resumes it, and nothing of it happens twice.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{RUN, fixture, writes};
use crate::fixture::{Fixture, shell_word};

/// More than a process takes to get somewhere.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs the items, and kills the process once the file is there.
fn killed_once(fixture: &Fixture, marker: &str) {
    let mut process = fixture.command(&RUN).spawn().unwrap();
    let until = Instant::now() + LONGEST;
    while !fixture.path(marker).exists() {
        assert!(Instant::now() < until, "{marker} does not come");
        std::thread::yield_now();
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn an_item_whose_process_is_killed_during_its_tests_is_resumed_and_its_agent_runs_once() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    let marker = shell_word(fixture.path("marker"));
    let command = format!("test -e {marker} && exit 0; touch {marker}; sleep 600");
    fixture.items(&[("w", "agent-1", json!({"test_command": command}))]);
    let before = fixture.state();
    killed_once(&fixture, "marker");
    assert_eq!(fixture.state(), before);
    let (_, listed) = fixture.json(&["work", "list"]);
    assert_eq!(listed[0]["state"], "testing", "{listed}");
    let (code, result) = fixture.result();
    assert_eq!(
        (code, &result["status"]),
        (0, &json!("success")),
        "{result}"
    );
    assert_eq!(result["metrics"]["tool_ops_count"], 1);
    assert_eq!(fixture.read("tree/new.txt"), "new\n");
    let (_, listed) = fixture.json(&["work", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    fixture.has_no_scratch();
}

#[test]
fn an_item_that_waits_for_an_approval_is_left_and_resumed() {
    let fixture = fixture();
    let more = "tools: {builtin: [write_file]}\nrequire_approval: [write_file]\n";
    fixture.agent_with("agent-1", more, &[writes("new.txt", "new\n")]);
    fixture.items(&[("w", "agent-1", json!({}))]);
    let left = fixture.ends(&RUN, 8);
    assert!(left.out.is_empty(), "{}", left.out);
    assert!(left.err.contains("item w was left"), "{}", left.err);
    let (_, listed) = fixture.json(&["work", "list"]);
    assert_eq!(listed[0]["state"], "running", "{listed}");
    let (_, runs) = fixture.json(&["list"]);
    let mut rows = runs["runs"].as_array().unwrap().iter();
    let row = rows.find(|row| row["work"] == json!(true)).unwrap();
    assert_eq!(row["state"], "suspended", "{row}");
    let shown = fixture.json(&["work", "show", "w"]).1;
    assert_eq!(shown["state"], "running", "{shown}");
    let run = format!("{}.1", listed[0]["work_id"].as_str().unwrap());
    fixture.answers("approve", &run);
    let (code, result) = fixture.result();
    assert_eq!(
        (code, &result["status"]),
        (0, &json!("success")),
        "{result}"
    );
    assert_eq!(result["metrics"]["tool_ops_count"], 1);
    assert_eq!(fixture.read("tree/new.txt"), "new\n");
}

#[test]
fn a_scratch_tree_of_an_item_that_is_gone_is_removed_by_the_next_process() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    fixture.items(&[("w", "agent-1", json!({}))]);
    assert_eq!(fixture.result().0, 0);
    let tree = fs::metadata(fixture.path("tree")).unwrap();
    let folder = format!(".monolith-scratch/{:x}", tree.ino());
    let mut private = DirBuilder::new();
    private.recursive(true).mode(0o700);
    private
        .create(fixture.path(&format!("{folder}/gone")))
        .unwrap();
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    fixture.has_no_scratch();
}

/// 004/3.result.3
#[test]
fn the_files_of_a_receipt_that_was_not_written_are_written_by_the_next_process() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (_, result) = fixture.result();
    let path = result["receipt_path"].as_str().unwrap();
    let receipt = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    let again: Value = fixture.result().1;
    assert_eq!(again["status"], "success", "{again}");
    assert_eq!(fs::read(path).unwrap(), receipt);
}
