//! A workflow and its step runs as one tree: verified, forked, deleted and resumed together.

use rusqlite::params;
use serde_json::json;

use super::fixture;
use crate::delegation::{asks, prompt};
use crate::fixture::Fixture;

/// A workflow with a step that calls a tool, one that asks, and one whose agent calls another one.
fn tree() -> Fixture {
    let fixture = fixture(
        "steps:
- {id: keep, tool: write_file, arguments: {path: kept.txt, content: kept}}
- {id: ask, prompt: ping}
- {id: give, delegate: lead.yaml, task: go}
",
    );
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    assert_eq!(fixture.workflow().0, 0);
    fixture
}

/// The steps and the runs of agents below them are verified with the workflow, each against what the one above recorded; another run in
/// the place of a step is found with its name and the entry, though it verifies by itself.
#[test]
fn a_workflow_is_verified_with_every_run_below_it() {
    let fixture = tree();
    let tree = fixture.proves_tree("w");
    assert_eq!(
        Fixture::tree_names(&tree),
        ["w", "w.1", "w.2", "w.3", "w.3.1"]
    );
    let steps: Vec<_> = tree["runs"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&steps[1]["step"], &steps[4]["step"]),
        (&json!("keep"), &json!(null))
    );
    let said = fixture.ok(&["verify", "w", "--tree"]);
    for part in [
        "  w.2  ask  verified at level",
        "    w.3.1  verified",
        "verified: 5 runs",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }

    // Entry 2 has the end of step 2: another head in the run is found where it is, and so is another run of that name.
    let plain = fixture.plain_store();
    let change = "UPDATE entries SET action = replace(action, '\"turns\":1', '\"turns\":2') \
         WHERE run = (SELECT id FROM runs WHERE run_id = ?1)";
    assert!(plain.execute(change, params!["w.2"]).unwrap() > 0);
    drop(plain);
    let (code, tampered) = fixture.json(&["verify", "w", "--tree"]);
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

    fixture.ok(&["delete", "w.2", "--yes"]);
    fixture.ok(&["run", "agent.yaml", "ping", "--run-id", "w.2"]);
    fixture.ok(&["verify", "w.2"]);
    let (code, replaced) = fixture.json(&["verify", "w", "--tree"]);
    assert_eq!(code, 7, "{replaced}");
    let found = bad(&replaced);
    assert_eq!(
        (&found["run_id"], &found["first_bad"]["field"]),
        (&json!("w.2"), &json!("event.parent"))
    );
    fixture.ok(&["delete", "w.2", "--yes"]);
    let said = fixture.ends(&["verify", "w", "--tree"], 7).out;
    assert!(said.contains("not verified: run w.2"), "{said}");
    let shown = fixture.ok(&["show", "w"]);
    let used = "by its step runs, 1 of which this store does not have";
    assert!(shown.contains(used), "{shown}");
}

/// The workflow's record of its steps is part of the workflow's chain: a changed entry of it is found before any step.
#[test]
fn a_workflow_whose_entry_was_changed_does_not_verify_as_a_tree() {
    let fixture = fixture("steps: [{id: ask, prompt: ping}]\n");
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
    let store = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let change = "UPDATE entries SET state = 'STOPPING' \
         WHERE seq = 1 AND run = (SELECT id FROM runs WHERE run_id = 'w')";
    assert_eq!(store.execute(change, []).unwrap(), 1);
    drop(store);
    let said = fixture.ends(&["verify", "w", "--tree"], 7).out;
    assert!(said.contains("not verified: run w\n"), "{said}");
    assert!(said.contains("tampered at entry 1"), "{said}");
}

/// The run of a step that came to another end than the workflow recorded: it names the same entry and verifies by itself.
#[test]
fn a_step_that_ended_otherwise_than_its_workflow_recorded_is_found_with_the_entry() {
    let fixture = fixture(
        "steps: [{id: ask, tool: write_file, arguments: {path: asked.txt, content: yes}}]\n",
    );
    fixture.asks_before_writing();
    fixture.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    let (_, waiting) = fixture.json(&["approvals"]);
    let hash = waiting["approvals"][0]["arguments_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let answered = |verb: &str, store: &str| {
        fixture.ok(&[verb, "w.1", "--yes", "--arguments", &hash, "--store", store]);
        fixture.run(&["resume", "w", "--store", store]);
    };
    // The same beginning in another store: there a person says no.
    std::fs::copy(fixture.path("home/runs.db"), fixture.path("home/other.db")).unwrap();
    let log = fixture.path("home/runs.db-wal");
    if log.exists() {
        std::fs::copy(log, fixture.path("home/other.db-wal")).unwrap();
    }
    answered("deny", "home/other.db");
    answered("approve", "home/runs.db");
    fixture.proves_tree("w");
    fixture.ok(&["verify", "w.1", "--store", "home/other.db"]);
    fixture.ok(&[
        "export",
        "w.1",
        "--store",
        "home/other.db",
        "--output",
        "denied.jsonl",
    ]);
    fixture.ok(&["delete", "w.1", "--yes"]);
    fixture.ok(&["import", "denied.jsonl", "--deleted"]);
    fixture.ok(&["verify", "w.1"]);
    let (code, tree) = fixture.json(&["verify", "w", "--tree"]);
    let bad = &tree["runs"][1];
    assert_eq!((code, &bad["run_id"]), (7, &json!("w.1")), "{tree}");
    assert_eq!(bad["first_bad"]["field"], "head", "{tree}");
    let expected = bad["first_bad"]["expected"].as_str().unwrap();
    assert!(expected.contains("as entry 3 of w recorded"), "{expected}");
}

/// A fork has steps of the workflow that it was forked from: they are verified with it, and stay as long as it does.
#[test]
fn a_workflow_that_was_forked_stays_as_long_as_the_fork_does() {
    let fixture = fixture("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    fixture.workflow();
    fixture.ok(&["replay", "w", "--fork-at", "1", "--run-id", "f"]);
    let tree = fixture.proves_tree("f");
    assert_eq!(Fixture::tree_names(&tree), ["f", "w.1", "f.2"]);

    for run in ["w", "w.1"] {
        let said = fixture.ends(&["delete", run, "--yes"], 4).err;
        assert!(
            said.contains("failed to delete run w.1: workflow f was forked")
                && said.contains("delete f"),
            "{said}"
        );
    }
    // The fork's own runs can go with it, and then nothing needs the other one.
    let pruned = fixture.ends(
        &[
            "prune",
            "--older-than",
            "0s",
            "--outcome",
            "timeout",
            "--yes",
        ],
        0,
    );
    assert!(pruned.out.contains("0 runs"), "{}", pruned.printed());
    let gone = fixture.ok(&["prune", "--older-than", "0s", "--dry-run"]);
    assert!(gone.contains("5 runs would be deleted"), "{gone}");
    fixture.ok(&["delete", "w", "--yes", "--force"]);
    let said = fixture.ends(&["verify", "f", "--tree"], 7).out;
    assert!(said.contains("not verified: run w.1"), "{said}");
    // By itself it holds.
    fixture.ok(&["verify", "f"]);

    // An entry that there is not is the caller's fault, and the end of it no beginning.
    let fixture = super::fixture("steps: [{id: a, prompt: ping}]\n");
    fixture.workflow();
    let said = fixture.ends(&["replay", "w", "--fork-at", "99"], 4).err;
    assert!(
        said.contains("failed to fork run w at entry 99: it has entries 0 to 2"),
        "{said}"
    );
    let said = fixture.ends(&["replay", "w", "--fork-at", "2"], 4).err;
    assert!(
        said.contains("failed to fork workflow w after entry 2: it ended there"),
        "{said}"
    );
}

/// A fork of a fork has a step of the first one: the one between has none of them, and is needed to hold them together.
#[test]
fn a_workflow_between_two_forks_stays() {
    let fixture = fixture("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    fixture.workflow();
    fixture.ok(&["replay", "w", "--fork-at", "1", "--run-id", "f"]);
    fixture.ok(&["replay", "f", "--fork-at", "1", "--run-id", "g"]);
    let tree = fixture.proves_tree("g");
    assert_eq!(Fixture::tree_names(&tree), ["g", "w.1", "g.2"]);

    // What it has of the others is exported with it, so that it holds in another store.
    fixture.ok(&["export", "g", "--tree", "-o", "out"]);
    let names = ["f", "g", "g.2", "w", "w.1"];
    let files = names.map(|run| format!("out/{run}.jsonl"));
    let mut written = std::fs::read_dir(fixture.path("out")).unwrap().count();
    assert_eq!(written, files.len());
    let other = ["--store", "other.db"];
    let files = files.each_ref().map(String::as_str);
    fixture.ok(&[&["import"], &files[..], &other].concat());
    let (code, there) = fixture.json(&[&["verify", "g", "--tree"], &other[..]].concat());
    assert_eq!((code, &there["holds"]), (0, &json!(true)), "{there}");
    assert_eq!(Fixture::tree_names(&there), Fixture::tree_names(&tree));
    // Pages and trajectories contain only the fork's tree.
    fixture.ok(&["export", "g", "--tree", "--format", "html", "-o", "pages"]);
    written = std::fs::read_dir(fixture.path("pages")).unwrap().count();
    assert_eq!(written, 3);
    // Where the workflow that has the step is not there, what cannot be known is not checked.
    let third = ["--store", "third.db"];
    fixture.ok(&[
        &["import", "out/g.jsonl", "out/w.1.jsonl", "out/g.2.jsonl"],
        &third[..],
    ]
    .concat());
    let (code, there) = fixture.json(&[&["verify", "g", "--tree"], &third[..]].concat());
    assert_eq!(code, 0, "{there}");
    let unknown = there["runs"][1]["not_checked"].to_string();
    // It is exported from there as well.
    fixture.ok(&[&["export", "g", "--tree", "-o", "from-third"], &third[..]].concat());
    assert!(
        unknown.contains("workflow w is not in this store"),
        "{there}"
    );

    // Another run in place of a step is none, be it a step of another workflow of that name.
    let fourth = ["--store", "fourth.db"];
    fixture.ok(&[&["run", "w.yaml", "again", "--run-id", "w"], &fourth[..]].concat());
    fixture.ok(&[&["export", "w.1", "-o", "foreign.jsonl"], &fourth[..]].concat());
    let fifth = ["--store", "fifth.db"];
    let with_foreign = [
        "import",
        "out/g.jsonl",
        "out/g.2.jsonl",
        "out/w.jsonl",
        "foreign.jsonl",
    ];
    fixture.ok(&[&with_foreign[..], &fifth].concat());
    let left = fixture.ends(
        &[&["export", "g", "--tree", "-o", "bad"], &fifth[..]].concat(),
        7,
    );
    assert!(left.err.contains("run w.1, a child of g"), "{}", left.err);
    assert!(!fixture.path("bad").exists());

    let said = fixture.ends(&["delete", "f", "--yes"], 4).err;
    assert!(
        said.contains("failed to delete run f: workflow g was forked from it"),
        "{said}"
    );
    fixture.ok(&["delete", "f", "--yes", "--force"]);
    // Nothing was changed: what cannot be known is not checked.
    let (code, tree) = fixture.json(&["verify", "g", "--tree"]);
    assert_eq!(code, 0, "{tree}");
    let unknown = tree["runs"][1]["not_checked"].to_string();
    assert!(
        unknown.contains("workflow f is not in this store"),
        "{tree}"
    );
}

/// A fork's steps from another workflow are matched by that one's whole name, which may begin with the fork's.
#[test]
fn the_steps_of_a_workflow_whose_name_begins_with_that_of_its_fork_are_not_the_forks() {
    let fixture = fixture("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    fixture.ok(&["run", "w.yaml", "--run-id", "f.w"]);
    fixture.ok(&["replay", "f.w", "--fork-at", "1", "--run-id", "f"]);
    let tree = fixture.proves_tree("f");
    assert_eq!(Fixture::tree_names(&tree), ["f", "f.w.1", "f.2"]);
    let said = fixture.ends(&["delete", "f.w", "--yes"], 4).err;
    assert!(
        said.contains("failed to delete run f.w.1: workflow f was forked"),
        "{said}"
    );
    fixture.ok(&["export", "f", "--tree", "-o", "out"]);
    let files = ["f", "f.2", "f.w", "f.w.1"].map(|run| format!("out/{run}.jsonl"));
    let files = files.each_ref().map(String::as_str);
    let other = ["--store", "other.db"];
    fixture.ok(&[&["import"], &files[..], &other].concat());
    fixture.ok(&[&["verify", "f", "--tree"], &other[..]].concat());
}

/// A fork is verified and exported without the workflows above those whose steps it has; where one of those does not read, that is said.
#[test]
fn a_fork_needs_no_workflow_that_it_has_nothing_of() {
    let fixture = fixture("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    fixture.workflow();
    fixture.ok(&["replay", "w", "--fork-at", "0", "--run-id", "f"]);
    fixture.ok(&["replay", "f", "--fork-at", "2", "--run-id", "g"]);
    let tree = fixture.proves_tree("g");
    assert_eq!(Fixture::tree_names(&tree), ["g", "f.1", "g.2"]);
    let damages = |run: &str| {
        let plain = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
        let damage = "UPDATE entries SET event = x'6a756e6b' \
             WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?1)";
        assert_eq!(plain.execute(damage, [run]).unwrap(), 1);
    };
    damages("w");
    fixture.ok(&["verify", "g", "--tree"]);
    fixture.ok(&["export", "g", "--tree", "-o", "out"]);
    assert!(fixture.path("out/f.jsonl").exists());
    damages("f");
    fixture.ends(&["export", "g", "--tree", "-o", "none"], 7);
    assert!(!fixture.path("none").exists());
    // The step itself stays as long as the fork does.
    fixture.ends(&["delete", "f.1", "--yes"], 4);
}

/// The row of a workflow that says it is a run would leave its steps out.
#[test]
fn a_workflow_is_verified_as_what_its_definition_says() {
    let fixture = fixture("steps: [{id: a, prompt: ping}]\n");
    fixture.workflow();
    let plain = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let change = "UPDATE runs SET kind = 'run' WHERE run_id = 'w'";
    assert_eq!(plain.execute(change, []).unwrap(), 1);
    drop(plain);
    for tree in [&["--tree"][..], &[]] {
        let said = fixture.ends(&[&["verify", "w"], tree].concat(), 7).out;
        assert!(said.contains("kind"), "{said}");
    }
}

/// Prune keeps a workflow that a younger fork needs, and says so.
#[test]
fn what_a_fork_needs_that_stays_is_not_pruned() {
    let fixture = fixture("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    fixture.workflow();
    fixture.ok(&["replay", "w", "--fork-at", "1", "--run-id", "f"]);
    let plain = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    // The fork was begun a day later.
    let later =
        "UPDATE runs SET created_unix_ms = created_unix_ms + 86400000 WHERE run_id LIKE 'f%'";
    assert_eq!(plain.execute(later, []).unwrap(), 2);
    drop(plain);
    let kept = fixture.ends(&["prune", "--older-than", "0s", "--dry-run"], 0);
    assert!(
        kept.out.contains("0 runs would be deleted"),
        "{}",
        kept.printed()
    );
    assert!(
        kept.err
            .contains("note: kept w: cannot delete run w.1: workflow f was forked"),
        "{}",
        kept.printed()
    );
}

/// Runs that were left by an older workflow of that name are no steps of this one: nothing is begun, and the error says what to do.
#[test]
fn a_run_that_is_left_of_an_older_workflow_is_named_before_anything_begins() {
    let fixture = fixture("steps: [{id: a, prompt: ping}]\n");
    fixture.ok(&["run", "agent.yaml", "hi", "--run-id", "w.1"]);
    let said = fixture.ends(&["run", "w.yaml", "--run-id", "w"], 4).err;
    assert!(
        said.contains("failed to run w: a child run would be called w.1")
            && said.contains("monolith delete w.1"),
        "{said}"
    );
    assert_eq!(
        fixture.json(&["list"]).1["runs"].as_array().unwrap().len(),
        1
    );
    fixture.ok(&["delete", "w.1", "--yes"]);
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
}

/// A run below that the store does not have, or whose first entry does not read, is not left out in silence.
#[test]
fn a_tree_with_a_run_that_cannot_be_read_is_not_exported_in_part() {
    let fixture = tree();
    fixture.ok(&["export", "w", "--tree", "-o", "whole"]);
    assert!(fixture.path("whole/w.3.1.jsonl").exists());

    // As long as the tree is open, nothing of it is deleted, though what is directly above has ended.
    let store = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let class = "SELECT class FROM runs WHERE run_id = 'w'";
    let class: String = store.query_row(class, [], |row| row.get(0)).unwrap();
    let set = "UPDATE runs SET class = ?1 WHERE run_id = 'w'";
    store.execute(set, [None::<&str>]).unwrap();
    let said = fixture.ends(&["delete", "w.3.1", "--yes"], 4).err;
    assert!(
        said.contains("it belongs to the tree of w, which has not ended"),
        "{said}"
    );
    store.execute(set, [class]).unwrap();
    drop(store);

    // Another workflow of the same names, and its step instead of this one's: it verifies by itself, and names `w`.
    let other = ["--store", "other.db"];
    fixture.ok(&[&["run", "w.yaml", "again", "--run-id", "w"], &other[..]].concat());
    fixture.ok(&[&["export", "w.2", "-o", "foreign.jsonl"], &other[..]].concat());
    fixture.ok(&["delete", "w.2", "--yes"]);
    fixture.ok(&["import", "foreign.jsonl", "--deleted"]);
    let said = fixture
        .ends(&["export", "w", "--tree", "-o", "part"], 7)
        .err;
    assert!(
        said.contains(
            "run w.2, a child of w, is missing from this store, cannot be read, or another"
        ),
        "{said}"
    );
    assert!(!fixture.path("part").exists(), "{said}");
    let drawn = fixture.ok(&["show", "w", "--tree"]);
    assert!(!drawn.contains("─ w.2"), "{drawn}");
    fixture.ok(&["delete", "w.2", "--yes"]);
    fixture.ok(&["import", "whole/w.2.jsonl", "--deleted"]);

    let plain = fixture.plain_store();
    let change = "UPDATE entries SET event = '{\"at_ms\":0}' \
         WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?1)";
    for (run, above) in [("w.3.1", "w.3"), ("w.2", "w")] {
        assert_eq!(plain.execute(change, params![run]).unwrap(), 1);
        let said = fixture
            .ends(&["export", "w", "--tree", "-o", "part"], 7)
            .err;
        let names = format!("run {run}, a child of {above}, is missing from this store");
        assert!(said.contains(&names), "{said}");
        assert!(!fixture.path("part").exists(), "{said}");
    }
}
