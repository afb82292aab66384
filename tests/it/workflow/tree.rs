//! A workflow and its step runs as one tree: verified, forked, deleted and gone on with together.

use rusqlite::params;
use serde_json::json;

use super::desk;
use crate::delegation::{asks, prompt};
use crate::desk::Desk;

/// A workflow with a step that calls a tool, one that asks, and one whose agent calls another one.
fn tree() -> Desk {
    let desk = desk(
        "steps:
- {id: keep, tool: write_file, arguments: {path: kept.txt, content: kept}}
- {id: ask, prompt: ping}
- {id: give, delegate: lead.yaml, task: go}
",
    );
    desk.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    desk.agent("lead", "agents: [clock.yaml]\n", &calls);
    assert_eq!(desk.workflow().0, 0);
    desk
}

/// The steps and the runs of agents below them are verified with the workflow, each against what the one above recorded; another run in
/// the place of a step is found with its name and the entry, though it verifies by itself.
#[test]
fn a_workflow_is_verified_with_every_run_below_it() {
    let desk = tree();
    let tree = desk.proves_tree("w");
    assert_eq!(Desk::tree_names(&tree), ["w", "w.1", "w.2", "w.3", "w.3.1"]);
    let steps: Vec<_> = tree["runs"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&steps[1]["step"], &steps[4]["step"]),
        (&json!("keep"), &json!(null))
    );
    let said = desk.ok(&["verify", "w", "--tree"]);
    for part in [
        "  w.2  ask  verified at level",
        "    w.3.1  verified",
        "verified: 5 runs",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }

    // Entry 2 has the end of step 2: another head in the run is found where it is, and so is another run of that name.
    let plain = desk.plain_store();
    let change = "UPDATE entries SET action = replace(action, '\"turns\":1', '\"turns\":2') \
         WHERE run = (SELECT id FROM runs WHERE run_id = ?1)";
    assert!(plain.execute(change, params!["w.2"]).unwrap() > 0);
    drop(plain);
    let (code, tampered) = desk.json(&["verify", "w", "--tree"]);
    let bad = |tree: &serde_json::Value| {
        let runs = tree["runs"].as_array().unwrap().clone();
        runs.into_iter()
            .find(|one| one["first_bad"].is_object())
            .unwrap()
    };
    assert_eq!((code, &tampered["holds"]), (7, &json!(false)));
    let found = bad(&tampered);
    assert_eq!(
        (&found["run_id"], &found["step"]),
        (&json!("w.2"), &json!("ask"))
    );
    assert!(found["first_bad"]["seq"].is_u64(), "{found}");

    desk.ok(&["delete", "w.2", "--yes"]);
    desk.ok(&["run", "agent.yaml", "ping", "--run-id", "w.2"]);
    desk.ok(&["verify", "w.2"]);
    let (code, replaced) = desk.json(&["verify", "w", "--tree"]);
    assert_eq!(code, 7, "{replaced}");
    let found = bad(&replaced);
    assert_eq!(
        (&found["run_id"], &found["first_bad"]["field"]),
        (&json!("w.2"), &json!("event.parent"))
    );
    desk.ok(&["delete", "w.2", "--yes"]);
    let said = desk.ends(&["verify", "w", "--tree"], 7).out;
    assert!(said.contains("not verified: run w.2"), "{said}");
    let shown = desk.ok(&["show", "w"]);
    let used = "by its step runs, 1 of which this store does not have";
    assert!(shown.contains(used), "{shown}");
}

/// What a workflow recorded of its steps is part of its own chain: a changed entry of it is found before any step.
#[test]
fn a_workflow_whose_entry_was_changed_does_not_verify_as_a_tree() {
    let desk = desk("steps: [{id: ask, prompt: ping}]\n");
    desk.ok(&["run", "w.yaml", "--run-id", "w"]);
    let store = rusqlite::Connection::open(desk.path("home/runs.db")).unwrap();
    let change = "UPDATE entries SET state = 'STOPPING' \
         WHERE seq = 1 AND run = (SELECT id FROM runs WHERE run_id = 'w')";
    assert_eq!(store.execute(change, []).unwrap(), 1);
    drop(store);
    let said = desk.ends(&["verify", "w", "--tree"], 7).out;
    assert!(said.contains("not verified: run w\n"), "{said}");
    assert!(said.contains("tampered at entry 1"), "{said}");
}

/// The run of a step that came to another end than the workflow recorded: it names the same entry and verifies by itself.
#[test]
fn a_step_that_ended_otherwise_than_its_workflow_recorded_is_found_with_the_entry() {
    let desk =
        desk("steps: [{id: ask, tool: write_file, arguments: {path: asked.txt, content: yes}}]\n");
    let text = desk.read("w.yaml");
    let asks_first = "  require_approval: [write_file]\n  tool_policy:";
    desk.write("w.yaml", &text.replace("  tool_policy:", asks_first));
    desk.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    let (_, waiting) = desk.json(&["approvals"]);
    let hash = waiting["approvals"][0]["arguments_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let answered = |verb: &str, store: &str| {
        desk.ok(&[verb, "w.1", "--yes", "--arguments", &hash, "--store", store]);
        desk.run(&["resume", "w", "--store", store]);
    };
    // The same beginning in another store: there a person says no.
    std::fs::copy(desk.path("home/runs.db"), desk.path("home/other.db")).unwrap();
    let log = desk.path("home/runs.db-wal");
    if log.exists() {
        std::fs::copy(log, desk.path("home/other.db-wal")).unwrap();
    }
    answered("deny", "home/other.db");
    answered("approve", "home/runs.db");
    desk.proves_tree("w");
    desk.ok(&["verify", "w.1", "--store", "home/other.db"]);
    desk.ok(&[
        "export",
        "w.1",
        "--store",
        "home/other.db",
        "--output",
        "denied.jsonl",
    ]);
    desk.ok(&["delete", "w.1", "--yes"]);
    desk.ok(&["import", "denied.jsonl", "--deleted"]);
    desk.ok(&["verify", "w.1"]);
    let (code, tree) = desk.json(&["verify", "w", "--tree"]);
    let bad = &tree["runs"][1];
    assert_eq!((code, &bad["run_id"]), (7, &json!("w.1")), "{tree}");
    assert_eq!(bad["first_bad"]["field"], "head", "{tree}");
    let expected = bad["first_bad"]["expected"].as_str().unwrap();
    assert!(expected.contains("as entry 3 of w recorded"), "{expected}");
}

/// A fork has steps of the workflow that it was forked from: they are verified with it, and stay as long as it does.
#[test]
fn a_workflow_that_was_forked_stays_as_long_as_the_fork_does() {
    let desk = desk("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    desk.workflow();
    desk.ok(&["replay", "w", "--fork-at", "1", "--run-id", "f"]);
    let tree = desk.proves_tree("f");
    assert_eq!(Desk::tree_names(&tree), ["f", "w.1", "f.2"]);

    for run in ["w", "w.1"] {
        let said = desk.ends(&["delete", run, "--yes"], 4).err;
        assert!(
            said.contains("failed to delete run w.1: workflow f was forked")
                && said.contains("delete f"),
            "{said}"
        );
    }
    // What a fork has of its own can go with it, and then nothing needs the other one.
    let pruned = desk.ends(
        &[
            "prune",
            "--older-than",
            "0s",
            "--outcome",
            "none-such",
            "--yes",
        ],
        0,
    );
    assert!(pruned.out.contains("0 runs"), "{}", pruned.said());
    let gone = desk.ok(&["prune", "--older-than", "0s", "--dry-run"]);
    assert!(gone.contains("5 runs would be deleted"), "{gone}");
    desk.ok(&["delete", "w", "--yes", "--force"]);
    let said = desk.ends(&["verify", "f", "--tree"], 7).out;
    assert!(said.contains("not verified: run w.1"), "{said}");
    // By itself it holds.
    desk.ok(&["verify", "f"]);

    // An entry that there is not is the caller's fault, and the end of it no beginning.
    let desk = super::desk("steps: [{id: a, prompt: ping}]\n");
    desk.workflow();
    let said = desk.ends(&["replay", "w", "--fork-at", "99"], 4).err;
    assert!(
        said.contains("failed to fork run w at entry 99: it has entries 0 to 2"),
        "{said}"
    );
    let said = desk.ends(&["replay", "w", "--fork-at", "2"], 4).err;
    assert!(
        said.contains("failed to fork workflow w after entry 2: it has ended there"),
        "{said}"
    );
}

/// A fork of a fork has a step of the first one: the one between has none of them, and is needed to hold them together.
#[test]
fn a_workflow_between_two_forks_stays() {
    let desk = desk("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    desk.workflow();
    desk.ok(&["replay", "w", "--fork-at", "1", "--run-id", "f"]);
    desk.ok(&["replay", "f", "--fork-at", "1", "--run-id", "g"]);
    let tree = desk.proves_tree("g");
    assert_eq!(Desk::tree_names(&tree), ["g", "w.1", "g.2"]);

    // What it has of the others is exported with it, so that it holds in another store.
    desk.ok(&["export", "g", "--tree", "-o", "out"]);
    let names = ["f", "g", "g.2", "w", "w.1"];
    let files = names.map(|run| format!("out/{run}.jsonl"));
    let mut written = std::fs::read_dir(desk.path("out")).unwrap().count();
    assert_eq!(written, files.len());
    let other = ["--store", "other.db"];
    let files = files.each_ref().map(String::as_str);
    desk.ok(&[&["import"], &files[..], &other].concat());
    let (code, there) = desk.json(&[&["verify", "g", "--tree"], &other[..]].concat());
    assert_eq!((code, &there["holds"]), (0, &json!(true)), "{there}");
    assert_eq!(Desk::tree_names(&there), Desk::tree_names(&tree));
    // Pages and trajectories are made of its own tree alone.
    desk.ok(&["export", "g", "--tree", "--format", "html", "-o", "pages"]);
    written = std::fs::read_dir(desk.path("pages")).unwrap().count();
    assert_eq!(written, 3);
    // Where the workflow that has the step is not there, what cannot be known is not checked.
    let third = ["--store", "third.db"];
    desk.ok(&[
        &["import", "out/g.jsonl", "out/w.1.jsonl", "out/g.2.jsonl"],
        &third[..],
    ]
    .concat());
    let (code, there) = desk.json(&[&["verify", "g", "--tree"], &third[..]].concat());
    assert_eq!(code, 0, "{there}");
    let unknown = there["runs"][1]["not_checked"].to_string();
    assert!(
        unknown.contains("workflow w is not in this store"),
        "{there}"
    );

    let said = desk.ends(&["delete", "f", "--yes"], 4).err;
    assert!(
        said.contains("failed to delete run f: workflow g was forked from it"),
        "{said}"
    );
    desk.ok(&["delete", "f", "--yes", "--force"]);
    // Nothing was changed: what cannot be known is not checked.
    let (code, tree) = desk.json(&["verify", "g", "--tree"]);
    assert_eq!(code, 0, "{tree}");
    let unknown = tree["runs"][1]["not_checked"].to_string();
    assert!(
        unknown.contains("workflow f is not in this store"),
        "{tree}"
    );
}

/// Prune keeps a workflow that a younger fork needs, and says so.
#[test]
fn what_a_fork_needs_that_stays_is_not_pruned() {
    let desk = desk("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    desk.workflow();
    desk.ok(&["replay", "w", "--fork-at", "1", "--run-id", "f"]);
    let plain = rusqlite::Connection::open(desk.path("home/runs.db")).unwrap();
    // The fork was begun a day later.
    let later =
        "UPDATE runs SET created_unix_ms = created_unix_ms + 86400000 WHERE run_id LIKE 'f%'";
    assert_eq!(plain.execute(later, []).unwrap(), 2);
    drop(plain);
    let kept = desk.ends(&["prune", "--older-than", "0s", "--dry-run"], 0);
    assert!(
        kept.out.contains("0 runs would be deleted"),
        "{}",
        kept.said()
    );
    assert!(
        kept.err
            .contains("note: kept w: cannot delete run w.1: workflow f was forked"),
        "{}",
        kept.said()
    );
}

/// Runs that were left by an older workflow of that name are no steps of this one: nothing is begun, and the error says what to do.
#[test]
fn a_run_that_is_left_of_an_older_workflow_is_named_before_anything_begins() {
    let desk = desk("steps: [{id: a, prompt: ping}]\n");
    desk.ok(&["run", "agent.yaml", "hi", "--run-id", "w.1"]);
    let said = desk.ends(&["run", "w.yaml", "--run-id", "w"], 4).err;
    assert!(
        said.contains("failed to run w: run w.1 is in this store")
            && said.contains("monolith delete w.1"),
        "{said}"
    );
    assert_eq!(desk.json(&["list"]).1["runs"].as_array().unwrap().len(), 1);
    desk.ok(&["delete", "w.1", "--yes"]);
    desk.ok(&["run", "w.yaml", "--run-id", "w"]);
}

/// A run below that the store does not have, or whose first entry does not read, is not left out in silence.
#[test]
fn a_tree_with_a_run_that_cannot_be_read_is_not_exported_in_part() {
    let desk = tree();
    desk.ok(&["export", "w", "--tree", "-o", "whole"]);
    assert!(desk.path("whole/w.3.1.jsonl").exists());

    // As long as the tree is open, nothing of it is deleted, though what is directly above has ended.
    let store = rusqlite::Connection::open(desk.path("home/runs.db")).unwrap();
    let class = "SELECT class FROM runs WHERE run_id = 'w'";
    let class: String = store.query_row(class, [], |row| row.get(0)).unwrap();
    let set = "UPDATE runs SET class = ?1 WHERE run_id = 'w'";
    store.execute(set, [None::<&str>]).unwrap();
    let said = desk.ends(&["delete", "w.3.1", "--yes"], 4).err;
    assert!(
        said.contains("it stands below w, which has not ended"),
        "{said}"
    );
    store.execute(set, [class]).unwrap();
    drop(store);

    // Another workflow of the same names, and its step in the place of this one's: it verifies by itself, and names `w`.
    let other = ["--store", "other.db"];
    desk.ok(&[&["run", "w.yaml", "again", "--run-id", "w"], &other[..]].concat());
    desk.ok(&[&["export", "w.2", "-o", "foreign.jsonl"], &other[..]].concat());
    desk.ok(&["delete", "w.2", "--yes"]);
    desk.ok(&["import", "foreign.jsonl", "--deleted"]);
    let said = desk.ends(&["export", "w", "--tree", "-o", "part"], 7).err;
    assert!(
        said.contains("run w.2, which w began, is not in this store, or another"),
        "{said}"
    );
    assert!(!desk.path("part").exists(), "{said}");
    let drawn = desk.ok(&["show", "w", "--tree"]);
    assert!(!drawn.contains("─ w.2"), "{drawn}");
    desk.ok(&["delete", "w.2", "--yes"]);
    desk.ok(&["import", "whole/w.2.jsonl", "--deleted"]);

    let plain = desk.plain_store();
    let change = "UPDATE entries SET event = '{\"at_ms\":0}' \
         WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?1)";
    for (run, above) in [("w.3.1", "w.3"), ("w.2", "w")] {
        assert_eq!(plain.execute(change, params![run]).unwrap(), 1);
        let said = desk.ends(&["export", "w", "--tree", "-o", "part"], 7).err;
        let names = format!("run {run}, which {above} began, is not in this store");
        assert!(said.contains(&names), "{said}");
        assert!(!desk.path("part").exists(), "{said}");
    }
}
