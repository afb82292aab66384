//! Levels, dependencies and conflicts: which items run, in which order they publish, and what becomes of two that change one file.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{RUN, fixture, writes};
use crate::fixture::{bound, calls};

fn statuses(results: &[Value]) -> Vec<&str> {
    let each = results.iter();
    each.map(|result| result["status"].as_str().unwrap())
        .collect()
}

/// 004/7.levels.3
#[test]
fn all_items_of_a_large_level_are_published() {
    let fixture = fixture();
    let count = bound(24, 200);
    let names: Vec<(String, String)> = (0..count)
        .map(|n| (format!("w{n}"), format!("agent-{n}")))
        .collect();
    for (n, (_, agent)) in names.iter().enumerate() {
        fixture.item_agent(agent, &[writes(&format!("out/{n}.txt"), &format!("{n}\n"))]);
    }
    let items: Vec<_> = names
        .iter()
        .map(|(id, agent)| (id.as_str(), agent.as_str(), json!({})))
        .collect();
    fixture.items(&items);
    let (code, results) = fixture.item_results(&["--jobs", "2"]);
    assert_eq!((code, results.len()), (0, count), "{results:?}");
    for n in 0..count {
        assert_eq!(fixture.read(&format!("tree/out/{n}.txt")), format!("{n}\n"));
    }
    // Each began from the tree that they had in common.
    let receipts: BTreeSet<_> = results
        .iter()
        .map(|result| &result["receipt_id"])
        .map(Value::to_string)
        .collect();
    assert_eq!(receipts.len(), count);
    fixture.has_no_scratch();
}

#[test]
fn the_later_of_two_items_that_change_one_file_fails_or_runs_again() {
    let check = |more: Value, expect: [&str; 2], content: &str| {
        let fixture = fixture();
        fixture.item_agent("agent-1", &[writes("README.md", "first\n")]);
        fixture.item_agent("agent-2", &[writes("README.md", "second\n")]);
        fixture.items(&[("a", "agent-1", json!({})), ("b", "agent-2", more)]);
        let (_, results) = fixture.item_results(&[]);
        assert_eq!(statuses(&results), expect, "{results:?}");
        assert_eq!(fixture.read("tree/README.md"), content);
        results
    };
    let failed = check(json!({}), ["success", "failure"], "first\n");
    assert_eq!(failed[1]["error"], "conflict");
    let serialized = json!({"on_conflict": "serialize", "test_command": "true"});
    check(serialized, ["success", "success"], "second\n");
}

/// 004/2.item.4
#[test]
fn an_item_sees_what_its_dependency_published() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("made.txt", "made\n")]);
    fixture.item_agent("agent-2", &[writes("later.txt", "later\n")]);
    fixture.items(&[
        (
            "b",
            "agent-2",
            json!({"dependencies": ["a"], "input_files": ["/made.txt"]}),
        ),
        ("a", "agent-1", json!({})),
    ]);
    let (code, results) = fixture.item_results(&[]);
    assert_eq!(
        (code, statuses(&results)),
        (0, vec!["success", "success"]),
        "{results:?}"
    );
}

#[test]
fn a_dependency_without_success_fails_the_item_and_nothing_of_it_runs() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("made.txt", "made\n")]);
    fixture.items(&[
        ("a", "agent-1", json!({"test_command": "false"})),
        ("b", "agent-1", json!({"dependencies": ["a"]})),
    ]);
    let before = fixture.state();
    let (code, results) = fixture.item_results(&[]);
    assert_eq!(
        (code, statuses(&results)),
        (1, vec!["failure", "failure"]),
        "{results:?}"
    );
    assert_eq!(results[1]["error"], "dependency_failed: a");
    assert_eq!(results[1]["metrics"]["tool_ops_count"], 0);
    assert_eq!(fixture.state(), before);
}

/// 004/7.levels.1, 004/9.errors.5
#[test]
fn a_circle_and_a_dependency_that_never_succeeded_are_refused_before_anything_starts() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("made.txt", "made\n")]);
    let after = |id: &str| json!({"dependencies": [id]});
    fixture.items(&[("a", "agent-1", after("b")), ("b", "agent-1", after("a"))]);
    let circle = fixture.ends(&RUN, 4);
    assert!(
        circle
            .err
            .contains("these items wait for each other: a → b → a"),
        "{}",
        circle.err
    );
    fixture.items(&[("b", "agent-1", after("a"))]);
    let outside = fixture.ends(&RUN, 4);
    assert!(
        outside.err.contains("`a` is not in the file"),
        "{}",
        outside.err
    );
    assert!(!fixture.path("tree/made.txt").exists());
    // Once that item has succeeded in this tree, its receipt counts.
    fixture.items(&[("a", "agent-1", json!({}))]);
    assert_eq!(fixture.result().0, 0);
    fixture.item_agent("agent-2", &[writes("later.txt", "later\n")]);
    fixture.items(&[("b", "agent-2", after("a"))]);
    assert_eq!(fixture.result().0, 0);
}

/// An item that begins once the items `a` and `b` have ended.
fn reconciles(more: &Value) -> Value {
    let mut item = json!({"dependencies": ["a", "b"], "reconciles": true, "tool_errors": "fail"});
    let keys = item.as_object_mut().unwrap();
    keys.extend(more.as_object().unwrap().clone());
    item
}

/// A call that reads a version of a file of the item `b`.
fn reads(version: &str) -> String {
    let path = format!(".monolith-scratch/conflicts/b/{version}");
    calls("read_file", &json!({"path": path}).to_string())
}

#[test]
fn a_reconciler_that_merges_two_changes_of_one_file_succeeds() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("README.md", "first\n")]);
    let both = [
        writes("README.md", "second\n"),
        writes("more.txt", "more\n"),
    ];
    fixture.item_agent("agent-2", &both);
    let merging = [
        reads("before/README.md"),
        reads("after/README.md"),
        reads("after/more.txt"),
        writes("README.md", "first\nsecond\n"),
        writes("more.txt", "more\n"),
    ];
    fixture.item_agent("agent-3", &merging);
    let tests = json!({"test_command": "grep first README.md && grep second README.md"});
    fixture.items(&[
        ("a", "agent-1", json!({})),
        ("b", "agent-2", json!({})),
        ("merge", "agent-3", reconciles(&tests)),
    ]);
    let (code, results) = fixture.item_results(&[]);
    // The item that conflicted stays a failure.
    assert_eq!(
        (code, statuses(&results)),
        (1, vec!["success", "failure", "success"]),
        "{results:?}"
    );
    assert_eq!(results[1]["error"], "conflict");
    assert_eq!(fixture.read("tree/README.md"), "first\nsecond\n");
    assert_eq!(fixture.read("tree/more.txt"), "more\n");
    let receipt = results[2]["receipt_id"].as_str().unwrap();
    fixture.ok(&["work", "verify", receipt]);
    let whole = fixture.ok(&["work", "receipt", receipt]);
    assert!(!whole.contains("monolith-scratch"), "{whole}");
    let whole: Value = serde_json::from_str(&whole).unwrap();
    // Its agent was told what conflicted.
    let run = whole["run"]["run_id"].as_str().unwrap();
    fixture.ok(&["export", run, "-o", "run.jsonl"]);
    let told = fixture.read("run.jsonl");
    let conflict = results[1]["receipt_id"].as_str().unwrap();
    let place = ".monolith-scratch/conflicts/b";
    for part in [
        format!("Item b (conflict; receipt {conflict}): Write the file."),
        format!(
            "- changes README.md (conflict); before: {place}/before/README.md; after: {place}/after/README.md"
        ),
        format!("- creates more.txt; after: {place}/after/more.txt"),
    ] {
        assert!(told.contains(&part), "{part}\n{told}");
    }
    // A replay reads the same versions.
    let replayed = fixture.ends(&["work", "replay", receipt], 0);
    assert_eq!(Some(replayed.out.trim_end()), whole["after"].as_str());
    assert!(!replayed.err.contains("something else"), "{}", replayed.err);
    fixture.has_no_scratch();
}

#[test]
fn a_reconciler_that_waits_for_a_person_merges_the_same_conflict_afterwards() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("README.md", "first\n")]);
    fixture.item_agent("agent-2", &[writes("README.md", "second\n")]);
    fixture.agent_with(
        "agent-3",
        "tools: {builtin: [read_file, write_file, shell], sandbox: off}\nrequire_approval: [write_file]\n",
        &[
            reads("after/README.md"),
            writes("README.md", "first\nsecond\n"),
        ],
    );
    fixture.items(&[
        ("a", "agent-1", json!({})),
        ("b", "agent-2", json!({})),
        ("merge", "agent-3", reconciles(&json!({}))),
    ]);
    let (code, first) = fixture.item_results(&[]);
    assert_eq!(
        (code, statuses(&first)),
        (8, vec!["success", "failure"]),
        "{first:?}"
    );
    let inbox = fixture.json(&["approvals"]).1;
    let run = inbox["approvals"][0]["run_id"].as_str().unwrap();
    let said = fixture.answers("approve", run);
    assert!(
        said.contains("Now: monolith work run work.yaml\n"),
        "{said}"
    );
    let listed = fixture.ok(&["list", "--open"]);
    assert!(listed.contains("(monolith work run work.yaml)"), "{listed}");
    let (code, second) = fixture.item_results(&[]);
    assert_eq!(
        (code, statuses(&second)),
        (1, vec!["failure", "success", "success"]),
        "{second:?}"
    );
    // The item that conflicted did not run again.
    assert_eq!(second[0]["receipt_id"], first[1]["receipt_id"]);
    assert_eq!(fixture.read("tree/README.md"), "first\nsecond\n");
}
