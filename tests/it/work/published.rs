//! An item whose changes are in the work tree, and whose process was killed before it noted that: the next command ends it with its receipt.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{RUN, fixture, writes};
use crate::fixture::{Fixture, calls, shell_word};

/// More than a process takes to get somewhere.
const LONGEST: Duration = Duration::from_secs(60);

/// Two items of one level. `b` waits until `a` has ended, and `a` hangs once.
fn two_items() -> Fixture {
    let fixture = fixture();
    fixture.write("tree/x.log", "old\n");
    let marker = shell_word(fixture.path("marker"));
    let hangs = format!(
        "echo begin >> a.txt; test -e {marker} || {{ touch {marker}; sleep 60; }}; echo end >> a.txt"
    );
    let hangs = json!({"command": hangs}).to_string();
    fixture.item_agent("agent-1", &[calls("shell", &hangs)]);
    let changes = [writes(".gitignore", "*.log\n"), writes("x.log", "new\n")];
    fixture.item_agent("agent-2", &changes);
    fixture.items(&[
        ("a", "agent-1", json!({"allow_external": ["shell"]})),
        ("b", "agent-2", json!({})),
    ]);
    fixture
}

impl Fixture {
    /// The rows of the list, by their items.
    fn row(&self, item: &str) -> Value {
        let (_, listed) = self.json(&["work", "list"]);
        let rows = listed.as_array().unwrap();
        let row = rows.iter().find(|row| row["item"] == item);
        row.cloned().unwrap_or_default()
    }

    /// Runs both items, and kills the process once `b` is about to publish and `a` hangs. Returns the attempt at `b`.
    fn killed_before_publishing(&self) -> String {
        let args = [&RUN[..], &["--jobs", "2"]].concat();
        let mut process = self.command(&args).spawn().unwrap();
        let until = Instant::now() + LONGEST;
        while self.row("b")["state"] != "publishing" || !self.path("marker").exists() {
            assert!(Instant::now() < until, "b does not come to publishing");
        }
        process.kill().unwrap();
        process.wait().unwrap();
        self.row("b")["work_id"].as_str().unwrap().to_owned()
    }

    /// What the process leaves that is killed once the changes of `b` are in the tree.
    fn publish_b(&self, work_id: &str) {
        self.write("tree/.gitignore", "*.log\n");
        self.write("tree/x.log", "new\n");
        let trees = fs::read_dir(self.path("home/runs.db.work/trees")).unwrap();
        let trees: Vec<PathBuf> = trees.map(|tree| tree.unwrap().path()).collect();
        let [tree] = trees.as_slice() else {
            panic!("{trees:?}");
        };
        let journal = json!({
            "format": 1, "id": work_id, "is_inside": false, "key": "0", "modes": [],
            "purpose": "publish", "steps": [],
        });
        let done = tree.join(format!("{work_id}.done"));
        fs::write(done, journal.to_string()).unwrap();
    }
}

#[test]
fn a_published_item_ends_as_such_although_new_rules_hide_its_file_and_somebody_changed_it() {
    let fixture = two_items();
    let work_id = fixture.killed_before_publishing();
    fixture.publish_b(&work_id);
    fixture.write("tree/x.log", "edited\n");
    let (code, results) = fixture.item_results(&["--jobs", "2"]);
    assert_eq!(code, 0, "{results:?}");
    let b = results
        .iter()
        .find(|result| result["created_files"] == json!([super::absolute(&fixture, ".gitignore")]));
    let b = b.unwrap();
    assert_eq!(b["status"], "success", "{b}");
    let modified = json!([super::absolute(&fixture, "x.log")]);
    assert_eq!(b["modified_files"], modified, "{b}");
    assert_eq!(fixture.read("tree/x.log"), "edited\n");
    assert_eq!(fixture.row("b")["work_id"], json!(work_id));
    fixture.has_no_scratch();
}

#[test]
fn a_published_item_gets_its_receipt_whatever_file_is_run_and_whatever_its_own_says_now() {
    let fixture = two_items();
    let work_id = fixture.killed_before_publishing();
    fixture.publish_b(&work_id);
    fixture.items(&[("other", "agent-1", json!({"dependencies": ["nowhere"]}))]);
    fixture.ends(&RUN, 4);
    let row = fixture.row("b");
    assert_eq!(row["state"], "success", "{row}");
    let receipt = row["receipt_id"].as_str().unwrap();
    fixture.ok(&["work", "verify", receipt]);
    let thawed = fixture.json(&["work", "thaw", "b"]).1;
    assert_eq!(thawed["restored"], json!([".gitignore", "x.log"]));
    assert_eq!(fixture.read("tree/x.log"), "old\n");
}

#[test]
fn a_scratch_tree_goes_once_no_file_resumes_its_item() {
    let fixture = two_items();
    fixture.killed_before_publishing();
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    fixture.items(&[("other", "agent-1", json!({}))]);
    let (code, results) = fixture.item_results(&[]);
    assert_eq!(code, 0, "{results:?}");
    fixture.has_no_scratch();
}

#[test]
fn a_call_that_nobody_saw_end_is_made_again_on_a_fresh_tree() {
    let fixture = two_items();
    fixture.killed_before_publishing();
    let (code, results) = fixture.item_results(&["--jobs", "2"]);
    assert_eq!(code, 0, "{results:?}");
    assert_eq!(fixture.read("tree/a.txt"), "begin\nend\n");
    let a = fixture.json(&["work", "show", "a"]).1;
    let run = a["run"]["run_id"].as_str().unwrap();
    assert!(run.ends_with(".2"), "{run}");
    let said = fixture.ok(&["work", "replay", "a"]);
    assert_eq!(Some(said.trim_end()), a["after"].as_str());
    fixture.has_no_scratch();
}

#[test]
fn an_item_whose_change_is_published_is_not_deleted_before_it_has_its_receipt() {
    let fixture = two_items();
    let work_id = fixture.killed_before_publishing();
    let waits = fixture.row("a")["work_id"].as_str().unwrap().to_owned();
    let left = fixture.ends(&["delete", &waits, "--yes"], 4).err;
    assert!(left.contains("monolith work run "), "{left}");
    assert!(!left.contains("monolith resume"), "{left}");
    fixture.publish_b(&work_id);
    let state = fixture.state();
    for force in [&[][..], &["--force"]] {
        let args = [&["delete", work_id.as_str(), "--yes"][..], force].concat();
        let left = fixture.ends(&args, 4).err;
        assert!(left.contains("it has no receipt yet"), "{left}");
        assert!(left.contains("monolith work run "), "{left}");
    }
    assert_eq!(fixture.state(), state);
    assert_eq!(fixture.row("b")["state"], "publishing");
    fixture.items(&[("other", "agent-1", json!({"dependencies": ["nowhere"]}))]);
    fixture.ends(&RUN, 4);
    assert_eq!(fixture.row("b")["state"], "success");
    fixture.ok(&["delete", &work_id, "--yes"]);
    fixture.ok(&["delete", &waits, "--yes", "--force"]);
    assert_eq!(fixture.ok(&["work", "list"]), "no work items\n");
}

#[test]
fn a_thaw_of_a_published_item_ends_it_first() {
    let fixture = two_items();
    let work_id = fixture.killed_before_publishing();
    fixture.publish_b(&work_id);
    let thawed = fixture.json(&["work", "thaw", "b"]).1;
    assert_eq!(thawed["restored"], json!([".gitignore", "x.log"]));
    assert_eq!(fixture.read("tree/x.log"), "old\n");
    assert_eq!(fixture.row("b")["receipt_id"], thawed["receipt_id"]);
}
