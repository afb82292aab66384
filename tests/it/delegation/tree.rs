//! A tree of runs as one: it is verified, deleted and resumed together.

use rusqlite::{Connection, params};

use super::{asks, prompt};
use crate::fixture::Fixture;

pub(super) fn tree() -> Fixture {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("middle", "agents: [clock.yaml]\n", &calls);
    let calls = asks(&[("agent__middle", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [middle.yaml]\n", &calls);
    fixture.leads();
    fixture
}

/// `verify --tree` holds every run against the head that the one above recorded: another run in its place is found, though it verifies by
/// itself.
#[test]
fn a_run_below_that_is_another_one_than_was_recorded_does_not_verify() {
    let fixture = tree();
    // Another run takes the name, whole and signed by the same key.
    fixture.ok(&["delete", "lead.1.1", "--yes"]);
    fixture.ok(&[
        "run",
        "clock.yaml",
        "--task",
        "What time is it?",
        "--run-id",
        "lead.1.1",
    ]);
    fixture.ok(&["verify", "lead.1.1"]);
    let (code, verified) = fixture.json(&["verify", "lead", "--tree"]);
    assert_eq!((code, &verified["holds"]), (7, &false.into()), "{verified}");
    let runs = verified["runs"].as_array().unwrap();
    let bad = runs
        .iter()
        .find(|one| one["first_bad"].is_object())
        .unwrap();
    assert_eq!(
        (&bad["run_id"], &bad["first_bad"]["field"]),
        (&"lead.1.1".into(), &"event.parent".into())
    );
    // The tree above it is as it was.
    fixture.ok(&["verify", "lead"]);
}

#[test]
fn a_run_below_that_is_gone_does_not_verify() {
    let fixture = tree();
    fixture.ok(&["delete", "lead.1.1", "--yes"]);
    let left = fixture.ends(&["verify", "lead", "--tree"], 7);
    assert!(
        left.out.contains("not verified: run lead.1.1"),
        "{}",
        left.printed()
    );
}

/// The parent's statement of a child run's usage is compared with the child's seal.
#[test]
fn a_charge_that_is_not_what_the_run_below_used_is_found_in_its_parent() {
    let fixture = tree();
    let plain = fixture.plain_store();
    let change = "UPDATE entries SET event = replace(event, '\"tokens\":120', '\"tokens\":1') \
         WHERE run = (SELECT id FROM runs WHERE run_id = ?1)";
    let changed = plain.execute(change, params!["lead.1"]).unwrap();
    assert!(changed > 0);
    drop(plain);
    let (code, verified) = fixture.json(&["verify", "lead", "--tree"]);
    assert_eq!(code, 7, "{verified}");
    let bad = verified["runs"].as_array().unwrap();
    let bad = bad.iter().find(|one| one["first_bad"].is_object()).unwrap();
    assert_eq!(bad["run_id"], "lead.1", "{verified}");
}

/// `delete` and `prune` take the runs of agents with the run that delegated to them.
#[test]
fn runs_of_agents_go_with_the_run_above_them() {
    let fixture = tree();
    let deleted = fixture.ok(&["delete", "lead", "--yes"]);
    for run in ["lead", "lead.1", "lead.1.1"] {
        assert!(deleted.contains(run), "{deleted}");
    }
    let (_, listed) = fixture.json(&["list"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 0, "{listed}");

    let fixture = tree();
    let would = fixture.ok(&[
        "prune",
        "--older-than",
        "0s",
        "--outcome",
        "COMPLETED_CHAT_ONLY",
        "--dry-run",
    ]);
    assert!(would.contains("0 runs would be deleted"), "{would}");
    let would = fixture.ok(&["prune", "--older-than", "0s", "--dry-run"]);
    assert!(would.contains("3 runs would be deleted"), "{would}");
    fixture.ok(&["prune", "--older-than", "0s", "--yes"]);
    let (_, listed) = fixture.json(&["list"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 0, "{listed}");
}

/// 001/5.hierarchies.6: accounting has the requests of every run of a tree, and names the first one.
#[test]
fn accounting_has_the_requests_of_every_run_of_a_tree() {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    fixture.ok(&super::lead(&["--billing-file", "bill.jsonl"]));
    let bill = fixture.read("bill.jsonl");
    let lines = bill.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    let of = |run: &str| lines.iter().filter(|line| line["txnId"] == run).count();
    // Two requests and one call each.
    assert_eq!((of("lead"), of("lead.1")), (3, 3), "{bill}");
    assert!(
        lines.iter().all(|line| line["originTxnId"] == "lead"),
        "{bill}"
    );
    let child = lines.iter().find(|line| line["txnId"] == "lead.1").unwrap();
    assert_eq!(child["parentTxnId"], "lead", "{bill}");
}

/// `last` and the beginning of a name mean the run that was asked for, and never one that it began.
#[test]
fn last_and_a_short_name_are_the_run_that_delegated() {
    let fixture = tree();
    for asked in ["last", "le"] {
        let (code, shown) = fixture.json(&["show", asked]);
        assert_eq!((code, &shown["run_id"]), (0, &"lead".into()), "{asked}");
    }
    for asked in ["lead.1", "lead.1.1"] {
        assert_eq!(fixture.json(&["show", asked]).1["run_id"], asked);
    }
}

/// A file that cannot be taken keeps none of the others out, wherever it stands.
#[test]
fn import_takes_what_it_can_of_a_tree() {
    let fixture = tree();
    fixture.ok(&["export", "lead", "--tree", "-o", "out"]);
    let other = ["--store", "other.db"];
    let taken = ["run", "clock.yaml", "--task", "x", "--run-id", "lead.1.1"];
    fixture.ok(&[&taken, &other[..]].concat());
    fixture.write("notes.txt", "no transcript");
    let files = [
        "out/lead.1.1.jsonl",
        "notes.txt",
        "out/lead.1.jsonl",
        "gone.jsonl",
        "out/lead.jsonl",
    ];
    let left = fixture.ends(&[&["import"], &files[..], &other].concat(), 4);
    for run in ["lead", "lead.1"] {
        let taken = format!("imported: run {run},");
        assert!(left.out.contains(&taken), "{}", left.printed());
    }
    for refused in [
        "not imported: notes.txt: ",
        "not imported: out/lead.1.1.jsonl: failed to import run lead.1.1: the run of that name",
        "not imported: gone.jsonl: ",
        "help: name another store with --store",
    ] {
        assert_eq!(left.err.matches(refused).count(), 1, "{}", left.printed());
    }
    // Of one file the fault is an error.
    let one = fixture.ends(&[&["import", files[0]], &other[..]].concat(), 4);
    assert!(
        one.err.starts_with("error: failed to import"),
        "{}",
        one.err
    );
}

/// A tree that is being driven verifies with `--open` at any moment: what is begun while it is read is no stranger.
#[test]
fn a_tree_that_is_being_driven_verifies() {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let one = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    let calls: Vec<_> = std::iter::repeat_n(one[0].clone(), 60)
        .chain([one[1].clone()])
        .collect();
    let terms = "agents: [clock.yaml]\nmax_turns: 70\nmax_inferences: 500\n";
    fixture.agent("lead", terms, &calls);
    let mut child = fixture
        .command(&["run", "lead.yaml", "--task", "go", "--run-id", "lead"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut verified = 0;
    while child.try_wait().unwrap().is_none() {
        let left = fixture.run(&["verify", "lead", "--tree", "--open"]);
        // Before its first entry there is nothing to verify.
        if left.err.contains("find run") {
            continue;
        }
        assert_eq!(left.code, 0, "{}", left.printed());
        verified += 1;
    }
    assert!(verified > 0);
    let tree = fixture.ok(&["verify", "lead", "--tree"]);
    assert!(tree.contains("verified: 61 runs"), "{tree}");
}

/// A run goes after those below it: what is left of a tree whose deletion was broken off goes with its first run.
#[test]
fn a_tree_is_deleted_from_below() {
    let fixture = tree();
    fixture.ok(&["delete", "lead", "--yes"]);
    let store = Connection::open(fixture.path("home/runs.db")).unwrap();
    let mut noted = store
        .prepare("SELECT run_id FROM deletions ORDER BY rowid")
        .unwrap();
    let names = noted.query_map((), |row| row.get::<_, String>(0)).unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    assert_eq!(names, ["lead.1.1", "lead.1", "lead"]);
}
